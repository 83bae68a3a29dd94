"""SASL/PLAIN (RFC 4616): one token of an authorization id, a user and a password, separated by NUL.

The refusals are Apache Kafka's, word for word.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable

from barnabas.broker.security.sasl.mechanism import SaslAuthenticationFailed

NAME = "PLAIN"
_USER_OPTION = "user_"


def users_in(options: dict[str, str]) -> dict[str, str]:
    """Return the passwords by user, from the options of Kafka's PlainLoginModule (`user_alice="secret"`)."""
    return {name.removeprefix(_USER_OPTION): value for name, value in options.items() if name.startswith(_USER_OPTION)}


class PlainExchange:
    """The server's side of an exchange. `password_of` returns a user's password, None for an unknown user."""

    expires_ms = None
    is_by_token = False

    def __init__(self, password_of: Callable[[str], str | None]) -> None:
        self._password_of = password_of
        self.user: str | None = None

    def respond(self, token: bytes) -> bytes:
        authorization_id, user, password = _parts(token)
        if not user:
            raise SaslAuthenticationFailed("Authentication failed: username not specified")
        if not password:
            raise SaslAuthenticationFailed("Authentication failed: password not specified")
        expected = self._password_of(user)
        is_right = hmac.compare_digest(password.encode(), (expected or "").encode())  # also for an unknown user
        if expected is None or not is_right:
            raise SaslAuthenticationFailed("Authentication failed: Invalid username or password")
        if authorization_id and authorization_id != user:
            raise SaslAuthenticationFailed(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        self.user = user
        return b""


def _parts(token: bytes) -> list[str]:
    try:
        message = token.decode()
    except UnicodeDecodeError:
        raise SaslAuthenticationFailed("Authentication failed: the token is not UTF-8") from None
    count = message.count("\0") + 1
    if count != 3:  # checked before the split: half a million parts are 40 MB
        raise SaslAuthenticationFailed(f"Invalid SASL/PLAIN response: expected 3 tokens, got {count}")
    return message.split("\0")
