"""What one listener asks of those who come in: mechanisms of SASL, limits, and a count of who was let in or refused.

Shared by all connections of a listener. Tells every outcome: a log line, an event, a number. None of them has a token
or a password in it, nor the name that somebody only claimed to have: people type passwords there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from barnabas.broker.runtime.events.events import Events
from barnabas.broker.runtime.events.kinds import CONNECTION_AUTHENTICATED, CONNECTION_NOT_AUTHENTICATED
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.security.sasl.mechanism import Exchange

if TYPE_CHECKING:
    from barnabas.broker.api.frame_handler import RequestConnection
    from barnabas.broker.runtime.clock import Clock

_log = logger("security")


class Keys(Protocol):
    """What keeps the keys that signed tokens are judged by."""

    async def begin(self) -> None:
        """Get them, and keep them fresh from now on. Again: nothing."""

    def close(self) -> None:
        """Keep them no longer."""


@dataclass(slots=True)
class Outcomes:
    """How often."""

    let_in: int = 0
    refused: int = 0
    let_in_again: int = 0
    """By re-authentication."""
    refused_again: int = 0
    expired: int = 0
    """Connections that were closed because they went on without it."""


@dataclass(slots=True, kw_only=True)
class SaslListener:
    """That of one listener."""

    listener: str
    mechanisms: Mapping[str, Callable[[], Exchange]]
    """What begins an exchange, by name, in the order in which clients are told."""
    frame_bytes_max: int
    """`sasl.server.max.receive.size`"""
    failure_delay_ms: int
    """`connection.failed.authentication.delay.ms`"""
    reauth_ms: Mapping[str, int]
    """`connections.max.reauth.ms` by mechanism; 0 for never."""
    clock: Clock
    """By which sessions and what proved them expire."""
    machine_clock: Clock
    """By which a refusal is held back."""
    keys: Keys | None = None
    """Where tokens are signed."""
    events: Events = field(default_factory=Events)
    outcomes: Outcomes = field(default_factory=Outcomes)

    def tell_let_in(self, client: RequestConnection, mechanism: str, *, again: bool) -> None:
        """Who it is is proven, at first or `again`."""
        if again:
            self.outcomes.let_in_again += 1
        else:
            self.outcomes.let_in += 1
        facts = {"peer": client.peer, "listener": self.listener, "mechanism": mechanism}
        facts["principal"] = str(client.session.principal)
        by = "delegation token" if client.session.is_by_token else None
        _log.info(line("re-authenticated" if again else "authenticated", **facts, by=by))
        if self.events.is_on:
            self.events.tell(CONNECTION_AUTHENTICATED, {**facts, "is_again": again})

    def tell_refused(self, client: RequestConnection, mechanism: str, reason: str, *, again: bool) -> None:
        """It is not proven, and the connection is about to be closed. mechanism: empty before one is chosen."""
        if again:
            self.outcomes.refused_again += 1
        else:
            self.outcomes.refused += 1
        facts = {"peer": client.peer, "listener": self.listener, "mechanism": mechanism or None, "reason": reason}
        _log.warning(line("re-authentication failed" if again else "authentication failed", **facts))
        self._tell_refused(client, mechanism, reason, again)

    def tell_expired(self, client: RequestConnection, reason: str) -> None:
        """A session has ended, and its connection is about to be closed."""
        self.outcomes.expired += 1
        self._tell_refused(client, client.session.mechanism or "", reason, again=True)

    def _tell_refused(self, client: RequestConnection, mechanism: str, reason: str, again: bool) -> None:
        which: dict[str, Any] = {"host": client.client_host, "client_id": client.client_id, "listener": self.listener}
        which |= {"mechanism": mechanism or None, "reason": reason, "is_again": again}
        self.events.tell_repeated(CONNECTION_NOT_AUTHENTICATED, which, peer=client.peer)
