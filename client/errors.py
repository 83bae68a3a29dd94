"""Errors of the client itself, in addition to those in a broker's response.

All are KafkaErrors, so that one loop decides by the code what is retried.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.protocol.errors import ErrorCode, KafkaError


class ConnectionFailed(KafkaError):
    """No connection, or a lost one: NETWORK_EXCEPTION, and the broker's response is unknown."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.NETWORK_EXCEPTION, message)

    def __str__(self) -> str:
        return self.message


class AuthenticationFailed(KafkaError):
    """TLS or SASL ended in a refusal, by either side. Final: a retry would fail as well."""

    def __init__(self, message: str, code: int = ErrorCode.SASL_AUTHENTICATION_FAILED) -> None:
        found = ErrorCode(code)
        super().__init__(ErrorCode.SASL_AUTHENTICATION_FAILED if found.retriable else found, message)

    def __str__(self) -> str:
        return self.message


class UnsupportedByBroker(KafkaError):
    """The broker offers no version of an API that this client supports, or that has a field of the request.

    UNSUPPORTED_VERSION, before sending.
    """

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.UNSUPPORTED_VERSION, message)

    def __str__(self) -> str:
        return self.message


class BrokerSays(KafkaError):
    """An error in a broker's response. `words`: the broker's message, without `where`; empty if only a code came."""

    def __init__(self, code: ErrorCode, words: str, where: str) -> None:
        super().__init__(code, f"{where}: {words or code.message}")
        self.words = words


def raise_for(code: int, message: str | None, where: str) -> None:
    """Raise KafkaError for an error code of a response, unless it is NONE. `where` names the request's object."""
    if code == ErrorCode.NONE:
        return
    try:
        known = ErrorCode(code)
    except ValueError:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{where}: unknown error code {code}") from None
    raise BrokerSays(known, message or "", where)


def worst(failures: Iterable[KafkaError]) -> KafkaError:
    """Return the first failure that is not retriable, or else the first; there is at least one."""
    return max(failures, key=lambda each: not each.code.retriable)
