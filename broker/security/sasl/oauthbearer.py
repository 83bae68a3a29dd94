"""SASL/OAUTHBEARER (RFC 7628): one message with a bearer token, which a given function verifies.

    client  n,,^Aauth=Bearer <token>^A^A
    server  nothing, or the error: {"status":"invalid_token"}
    client  ^A                       and then it is refused

The refusals are Apache Kafka's. Extensions are taken and have no effect. Knows nothing of the content of a token.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from barnabas.broker.security.sasl.mechanism import SaslAuthenticationFailed

NAME = "OAUTHBEARER"
MESSAGE_BYTES_MAX = 128 << 10
"""The maximum length of a message: parsing tokens of unauthenticated clients may cost milliseconds at most."""
USER_BYTES_MAX = 1 << 10
"""The maximum length of a user's name in a token: it is stored with tokens, ACLs and quotas, and logged."""
_SASL_NAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_INITIAL = re.compile(
    rf"n,(?:a=(?P<authorization_id>{_SASL_NAME}))?,\x01"
    r"(?P<pairs>(?:[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01)*)\x01"
)
_AUTH = re.compile(r"(?P<scheme>\w+) +(?P<token>[-_~+/.a-zA-Z0-9]+=*)")


class Bearer(NamedTuple):
    """The result of a valid token."""

    user: str
    expires_ms: float
    """In milliseconds since 1970."""


class InvalidToken(Exception):
    """The token is not valid. str() is the reason, for the log; the client gets `status`, and the scope it lacks."""

    def __init__(self, reason: str, lacks_scope: str | None = None) -> None:
        super().__init__(reason)
        self.lacks_scope = lacks_scope

    @property
    def response(self) -> str:
        """The response to the client, in JSON."""
        if self.lacks_scope is None:
            return '{"status":"invalid_token"}'
        return f'{{"status":"insufficient_scope", "scope":"{self.lacks_scope}"}}'


class OAuthBearerExchange:
    """The server's side of an exchange. `judge` returns the user of a token, or raises InvalidToken."""

    is_by_token = False

    def __init__(self, judge: Callable[[str], Bearer]) -> None:
        self._judge = judge
        self._refused: SaslAuthenticationFailed | None = None
        self.user: str | None = None
        self.expires_ms: float | None = None

    def respond(self, token: bytes) -> bytes:
        if self._refused is not None:
            raise self._refused
        authorization_id, bearer_token = _parts(token)
        try:
            bearer = self._judge(bearer_token)
            _check_user(bearer.user)
        except InvalidToken as invalid:
            self._refused = SaslAuthenticationFailed(invalid.response, f"the token is refused: {invalid}")
            return invalid.response.encode()
        if authorization_id and authorization_id != bearer.user:
            raise SaslAuthenticationFailed(
                "Authentication failed: Client requested an authorization id that is different from the token's "
                "principal name"
            )
        self.user, self.expires_ms = bearer
        return b""


def _check_user(user: str) -> None:
    """Raise InvalidToken for a name that no log, record or page could carry: JSON texts may have lone surrogates."""
    try:
        size = len(user.encode())
    except UnicodeEncodeError:
        raise InvalidToken("its user name cannot be encoded in UTF-8") from None
    if size > USER_BYTES_MAX:
        raise InvalidToken(f"its user name has {size} bytes, more than {USER_BYTES_MAX}")


def _parts(message: bytes) -> tuple[str, str]:
    """Return the authorization id and the token."""
    if len(message) > MESSAGE_BYTES_MAX:
        raise _refusal()
    try:
        match = _INITIAL.fullmatch(message.decode())
    except UnicodeDecodeError:
        raise _refusal() from None
    if match is None:
        raise _refusal()
    pairs = dict(pair.split("=", 1) for pair in match["pairs"].split("\x01") if pair)
    auth = _AUTH.fullmatch(pairs.get("auth", ""))
    if auth is None or auth["scheme"].lower() != "bearer":
        raise _refusal()
    return match["authorization_id"] or "", auth["token"]


def _refusal() -> SaslAuthenticationFailed:
    return SaslAuthenticationFailed(
        f"Authentication failed during authentication due to invalid credentials with SASL mechanism {NAME}"
    )
