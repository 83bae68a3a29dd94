"""Errors of the client itself, beside those that a broker answers.

All are KafkaErrors, so that one loop decides by the code what is retried.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.protocol.errors import ErrorCode, KafkaError


class ConnectionFailed(KafkaError):
    """No connection, or one that was lost: NETWORK_EXCEPTION, and the broker's answer is not known."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.NETWORK_EXCEPTION, message)

    def __str__(self) -> str:
        return self.message


class AuthenticationFailed(KafkaError):
    """TLS or SASL ended in a refusal, of either side. Final: trying again would end as well."""

    def __init__(self, message: str, code: int = ErrorCode.SASL_AUTHENTICATION_FAILED) -> None:
        found = ErrorCode(code)
        super().__init__(ErrorCode.SASL_AUTHENTICATION_FAILED if found.retriable else found, message)

    def __str__(self) -> str:
        return self.message


class UnsupportedByBroker(KafkaError):
    """The broker offers no version of an API that we speak: UNSUPPORTED_VERSION, before anything was sent."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.UNSUPPORTED_VERSION, message)

    def __str__(self) -> str:
        return self.message


class BrokerSays(KafkaError):
    """What a broker answered. `words` are its own, without what was asked for; empty where it gave the code alone."""

    def __init__(self, code: ErrorCode, words: str, where: str) -> None:
        super().__init__(code, f"{where}: {words or code.message}")
        self.words = words


def raise_for(code: int, message: str | None, where: str) -> None:
    """Raise KafkaError for a code out of a response, unless it is NONE. `where` says what was asked for."""
    if code == ErrorCode.NONE:
        return
    try:
        known = ErrorCode(code)
    except ValueError:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{where}: unknown error code {code}") from None
    raise BrokerSays(known, message or "", where)


def worst(failures: Iterable[KafkaError]) -> KafkaError:
    """Of at least one the first that trying again does not cure, or else the first."""
    return max(failures, key=lambda each: not each.code.retriable)
