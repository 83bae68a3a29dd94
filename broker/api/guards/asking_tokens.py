"""Who may ask about delegation tokens at all, and what is answered where there are none.

A change of one token is answered with a code and a time: -1 for who may not ask, 0 for who is refused later, as by
Kafka.
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
    """That of the connection a request came by."""
    return None if connection is None else connection.session


def check_asker(session: Session | None) -> None:
    """KafkaError unless it has proven whom it speaks for, by SASL or a certificate, and not by a token."""
    if session is None or session.is_by_token or (session.mechanism is None and session.principal == ANONYMOUS):
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)


def existing(tokens: Tokens | None) -> Tokens:
    """The tokens of a broker. KafkaError where it has no secret key to make some with."""
    if tokens is None:
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    return tokens


def changed(
    connection: _Connected | None, tokens: Tokens | None, change: Callable[[Tokens], int]
) -> tuple[ErrorCode, int]:
    """The code, and when the token expires after it was changed."""
    expires_ms = _NEVER
    try:
        check_asker(session_of(connection))
        expires_ms = 0
        return ErrorCode.NONE, change(existing(tokens))
    except KafkaError as refusal:
        return refusal.code, expires_ms
