"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677), the server's side: the password is never sent, nor stored.

    client  n,,n=alice,r=<client nonce>
    server  r=<client nonce><server nonce>,s=<salt>,i=<iterations>
    client  c=biws,r=<both nonces>,p=<proof>
    server  v=<signature>

The formulas are in `protocol/security/scram.py`. Channel binding is not offered, as in Apache Kafka. An unknown user is
refused at the first message, as there. A message that is longer than any valid one is refused without parsing: matching
takes two hundred times its size, and its nonce is stored until the next one.

A delegation token is marked by the extension `tokenauth=true` (KIP-48): its id stands for the user, its HMAC in base64
is the password, and a client that proves to know it acts as the token's owner until the token expires.
"""

from __future__ import annotations

import hmac
import re
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Callable
from typing import NamedTuple

from barnabas.broker.security.sasl.mechanism import SaslAuthenticationFailed
from barnabas.protocol.security.scram import (
    ITERATIONS_MIN,
    ScramCredential,
    ScramMechanism,
    combined,
    digest,
    signature,
    unescaped,
)

_NONCE_BYTES = 20
_MESSAGE_BYTES_MAX = 16 << 10
_NAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|[^\x00-\x7f]|=2C|=3D)+"
_PRINTABLE = r"[\x21-\x2b\x2d-\x7e]+"
_EXTENSIONS = r"(?:,[A-Za-z]+=[\x01-\x2b\x2d-\x7f]+)*"
_EXTENSION = "tokenauth"
_CLIENT_FIRST = re.compile(
    rf"n,(?:a=(?P<authorization_id>{_NAME}))?,(?P<bare>n=(?P<user>{_NAME}),r=(?P<nonce>{_PRINTABLE})"
    rf"(?P<extensions>{_EXTENSIONS}))"
)
_CLIENT_FINAL = re.compile(
    rf"(?P<unproven>c=[A-Za-z0-9/+=]+,r=(?P<nonce>{_PRINTABLE}){_EXTENSIONS}),p=(?P<proof>[A-Za-z0-9/+=]+)"
)


class TokenLogin(NamedTuple):
    """The login data of a delegation token."""

    owner: str
    expires_ms: int
    """In milliseconds since 1970."""
    credential: ScramCredential


def no_token(token_id: str) -> TokenLogin | None:
    """Return None: a broker without delegation tokens knows no token."""
    return None


class ScramExchange:
    """The server's side of an exchange.

    `credential_of` returns the stored credential of a user, `token_of` the login data of a delegation token by its id;
    `random` returns so many random bytes.
    """

    def __init__(
        self,
        mechanism: ScramMechanism,
        credential_of: Callable[[str], ScramCredential | None],
        random: Callable[[int], bytes],
        token_of: Callable[[str], TokenLogin | None] = no_token,
    ) -> None:
        self._mechanism = mechanism
        self._credential_of = credential_of
        self._token_of = token_of
        self._random = random
        self._claimed = ""
        self._credential: ScramCredential | None = None
        self._nonce = self._messages = ""
        self.user: str | None = None
        self.expires_ms: float | None = None
        self.is_by_token = False

    def respond(self, token: bytes) -> bytes:
        if len(token) > _MESSAGE_BYTES_MAX:
            raise self._refusal()
        try:
            message = token.decode()
        except UnicodeDecodeError:
            raise self._refusal() from None
        return self._first(message) if self._credential is None else self._final(message, self._credential)

    def _first(self, message: str) -> bytes:
        match = _CLIENT_FIRST.fullmatch(message)
        if match is None:
            raise self._refusal()
        user = unescaped(match["user"])
        authorization_id = unescaped(match["authorization_id"] or "")
        if authorization_id and authorization_id != user:
            raise SaslAuthenticationFailed(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        credential = self._claim(user, _extensions(match["extensions"]))
        if credential is None or credential.iterations < ITERATIONS_MIN:
            raise self._refusal()
        self._credential = credential
        self._nonce = match["nonce"] + self._random(_NONCE_BYTES).hex()
        answer = f"r={self._nonce},s={b64encode(credential.salt).decode()},i={credential.iterations}"
        self._messages = f"{match['bare']},{answer}"
        return answer.encode()

    def _claim(self, user: str, extensions: dict[str, str]) -> ScramCredential | None:
        """Return the credential to verify for this user, or this token."""
        self._claimed = user
        if extensions.get(_EXTENSION, "").lower() != "true":
            return self._credential_of(user)
        token = self._token_of(user)
        if token is None:
            return None
        self.is_by_token = True
        self._claimed, self.expires_ms, credential = token
        return credential

    def _final(self, message: str, credential: ScramCredential) -> bytes:
        match = _CLIENT_FINAL.fullmatch(message)
        if match is None or match["nonce"] != self._nonce:
            raise self._refusal()
        signed = f"{self._messages},{match['unproven']}".encode()
        expected = signature(self._mechanism, credential.stored_key, signed)
        try:
            proof = b64decode(match["proof"], validate=True)
        except NotBase64:
            raise self._refusal() from None
        if len(proof) != len(expected):
            raise self._refusal()
        found = digest(self._mechanism, combined(proof, expected))
        if not hmac.compare_digest(found, credential.stored_key):
            raise self._refusal()
        self.user = self._claimed
        return b"v=" + b64encode(signature(self._mechanism, credential.server_key, signed))

    def _refusal(self) -> SaslAuthenticationFailed:
        return SaslAuthenticationFailed(
            "Authentication failed during authentication due to invalid credentials with SASL mechanism "
            f"{self._mechanism.name}"
        )


def _extensions(text: str) -> dict[str, str]:
    """Return the extensions by name; the last of a name counts."""
    return dict(each.split("=", 1) for each in text.split(",")[1:])
