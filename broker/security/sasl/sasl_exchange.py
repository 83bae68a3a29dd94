"""The progress of a connection with SASL: the mechanism it chose, and its exchange of tokens (KIP-43, KIP-152).

    begun -> (ApiVersions once) -> SaslHandshake -> tokens, in SaslAuthenticate or bare -> complete, or failed

Bare tokens follow a handshake of version 0: frames without a header. Knows no requests and no sockets: handlers and
the dispatcher pass on what was received, and close the connection of an exchange that has failed.

Invariant: an exchange that is complete or failed takes no more tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

from barnabas.broker.security.sasl.mechanism import Exchange, SaslAuthenticationFailed


class SaslStage(Enum):
    """The next message to be received."""

    BEGUN = "ApiVersions or SaslHandshake"
    VERSIONS_REQUESTED = "SaslHandshake"
    TOKENS = "SaslAuthenticate"
    BARE_TOKENS = "a bare token"
    COMPLETE = "any request"
    FAILED = "nothing"


class UnsupportedMechanism(Exception):
    """The listener does not have it."""


class IllegalStage(Exception):
    """Another message is awaited."""


class SaslExchange:
    """The exchange of one connection, by one listener's mechanisms."""

    __slots__ = ("_exchange", "_mechanisms", "mechanism", "stage")

    def __init__(self, mechanisms: Mapping[str, Callable[[], Exchange]]) -> None:
        """Start before the first message. mechanisms: functions that begin an exchange, by name, in listing order."""
        self._mechanisms = mechanisms
        self._exchange: Exchange | None = None
        self.mechanism = ""
        self.stage = SaslStage.BEGUN

    @property
    def offered(self) -> list[str]:
        """The names of the mechanisms."""
        return list(self._mechanisms)

    @property
    def user(self) -> str | None:
        """The user; None until authenticated."""
        return None if self._exchange is None else self._exchange.user

    @property
    def expires_ms(self) -> float | None:
        """When the credentials expire; None where they do not."""
        return None if self._exchange is None else self._exchange.expires_ms

    @property
    def is_by_token(self) -> bool:
        """Whether a delegation token was used."""
        return self._exchange is not None and self._exchange.is_by_token

    def versions_requested(self) -> None:
        """Accept ApiVersions: once, before all else. Raises IllegalStage."""
        self._expect(SaslStage.BEGUN)
        self.stage = SaslStage.VERSIONS_REQUESTED

    def choose(self, mechanism: str, *, tokens_are_bare: bool) -> None:
        """Accept a handshake. Raises UnsupportedMechanism, which ends the exchange, or IllegalStage."""
        self._expect(SaslStage.BEGUN, SaslStage.VERSIONS_REQUESTED)
        begin = self._mechanisms.get(mechanism)
        if begin is None:
            self.stage = SaslStage.FAILED
            raise UnsupportedMechanism(mechanism)
        self.mechanism, self._exchange = mechanism, begin()
        self.stage = SaslStage.BARE_TOKENS if tokens_are_bare else SaslStage.TOKENS

    def respond(self, token: bytes) -> bytes:
        """Return the answer to a token. Raises SaslAuthenticationFailed, which ends the exchange, or IllegalStage."""
        self._expect(SaslStage.TOKENS, SaslStage.BARE_TOKENS)
        assert self._exchange is not None, "a handshake begins an exchange"
        try:
            answer = self._exchange.respond(token)
        except SaslAuthenticationFailed:
            self.stage = SaslStage.FAILED
            raise
        if self._exchange.user is not None:
            self.stage = SaslStage.COMPLETE
        return answer

    def _expect(self, *stages: SaslStage) -> None:
        if self.stage not in stages:
            awaited = self.stage.value
            self.stage = SaslStage.FAILED
            raise IllegalStage(f"{awaited} is awaited")
