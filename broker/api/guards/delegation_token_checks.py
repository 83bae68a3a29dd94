"""Who may send requests about delegation tokens, and the errors where there are no tokens.

A change of one token is answered with a code and a time: -1 for a client that may not send the request, 0 for one that
is refused later, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from barnabas.broker.security.session.principal import ANONYMOUS
from barnabas.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.metadata.delegation_tokens.tokens import Tokens
    from barnabas.broker.security.session.session import Session


_NEVER: Final = -1


class _Connected(Protocol):
    session: Session


def session_of(connection: _Connected | None) -> Session | None:
    """Return the session of the connection that a request came by."""
    return None if connection is None else connection.session


def check_asker(session: Session | None) -> None:
    """Raise KafkaError unless the client has authenticated, by SASL or a certificate, and not by a token."""
    if session is None or session.is_by_token or (session.mechanism is None and session.principal == ANONYMOUS):
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)


def existing(tokens: Tokens | None) -> Tokens:
    """Return the tokens of a broker. Raise KafkaError if it has no secret key to make tokens with."""
    if tokens is None:
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    return tokens


def changed(
    connection: _Connected | None, tokens: Tokens | None, change: Callable[[Tokens], int]
) -> tuple[ErrorCode, int]:
    """Return the code, and the expiry time of the token after the change."""
    expires_ms = _NEVER
    try:
        check_asker(session_of(connection))
        expires_ms = 0
        return ErrorCode.NONE, change(existing(tokens))
    except KafkaError as refusal:
        return refusal.code, expires_ms
