"""How far a connection has come with SASL: which mechanism it chose, and its exchange of tokens (KIP-43, KIP-152).

    begun -> (ApiVersions once) -> SaslHandshake -> tokens, in SaslAuthenticate or bare -> complete, or failed

Bare tokens follow a handshake of version 0: frames without a header. Knows no requests and no sockets: handlers and
the dispatcher say what came, and close the connection of a conversation that is over without success.

Invariant: what is complete or failed takes no more tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

from barnabas.broker.security.sasl.mechanism import AuthenticationFailed, Exchange


class Stage(Enum):
    """What is awaited next."""

    BEGUN = "ApiVersions or SaslHandshake"
    VERSIONS_ASKED = "SaslHandshake"
    TOKENS = "SaslAuthenticate"
    BARE_TOKENS = "a bare token"
    COMPLETE = "any request"
    FAILED = "nothing"


class UnsupportedMechanism(Exception):
    """The listener does not have it."""


class IllegalStage(Exception):
    """Something else is awaited."""


class SaslExchange:
    """Of one connection, by one listener's mechanisms."""

    __slots__ = ("_exchange", "_mechanisms", "mechanism", "stage")

    def __init__(self, mechanisms: Mapping[str, Callable[[], Exchange]]) -> None:
        """mechanisms: what begins an exchange, by name, in the order in which they are told."""
        self._mechanisms = mechanisms
        self._exchange: Exchange | None = None
        self.mechanism = ""
        self.stage = Stage.BEGUN

    @property
    def offered(self) -> list[str]:
        """The names of the mechanisms."""
        return list(self._mechanisms)

    @property
    def user(self) -> str | None:
        """Who it is; None until that is proven."""
        return None if self._exchange is None else self._exchange.user

    @property
    def expires_ms(self) -> float | None:
        """Until when what proved it is good; None where it does not expire."""
        return None if self._exchange is None else self._exchange.expires_ms

    @property
    def is_by_token(self) -> bool:
        """Whether a delegation token proved it."""
        return self._exchange is not None and self._exchange.is_by_token

    def versions_asked(self) -> None:
        """ApiVersions was asked for: once, before all else. IllegalStage."""
        self._expect(Stage.BEGUN)
        self.stage = Stage.VERSIONS_ASKED

    def choose(self, mechanism: str, *, tokens_are_bare: bool) -> None:
        """A handshake. UnsupportedMechanism ends the conversation; IllegalStage."""
        self._expect(Stage.BEGUN, Stage.VERSIONS_ASKED)
        begin = self._mechanisms.get(mechanism)
        if begin is None:
            self.stage = Stage.FAILED
            raise UnsupportedMechanism(mechanism)
        self.mechanism, self._exchange = mechanism, begin()
        self.stage = Stage.BARE_TOKENS if tokens_are_bare else Stage.TOKENS

    def respond(self, token: bytes) -> bytes:
        """The answer to a token. AuthenticationFailed ends the conversation; IllegalStage."""
        self._expect(Stage.TOKENS, Stage.BARE_TOKENS)
        assert self._exchange is not None, "a handshake begins an exchange"
        try:
            answer = self._exchange.respond(token)
        except AuthenticationFailed:
            self.stage = Stage.FAILED
            raise
        if self._exchange.user is not None:
            self.stage = Stage.COMPLETE
        return answer

    def _expect(self, *stages: Stage) -> None:
        if self.stage not in stages:
            awaited = self.stage.value
            self.stage = Stage.FAILED
            raise IllegalStage(f"{awaited} is awaited")
