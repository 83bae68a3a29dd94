"""The SASL settings of one listener: mechanisms, limits, and counters of successful and failed authentications.

Shared by all connections of a listener. Reports every outcome: a log line, an event, a counter. None of them contains a
token or a password, nor a user name that is not authenticated: users type passwords there.
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
    """The source of the keys that signed tokens are verified with."""

    async def begin(self) -> None:
        """Get the keys, and refresh them from now on. Does nothing if called again."""

    def close(self) -> None:
        """Stop refreshing the keys."""


@dataclass(slots=True)
class AuthenticationCounts:
    """The number of authentications by outcome."""

    let_in: int = 0
    refused: int = 0
    let_in_again: int = 0
    """By re-authentication."""
    refused_again: int = 0
    expired: int = 0
    """Connections that were closed because they sent requests after their session had expired."""


@dataclass(slots=True, kw_only=True)
class SaslListener:
    """The SASL settings of one listener."""

    listener: str
    mechanisms: Mapping[str, Callable[[], Exchange]]
    """The functions that begin an exchange, by mechanism, in the order in which they are sent to clients."""
    frame_bytes_max: int
    """`sasl.server.max.receive.size`"""
    failure_delay_ms: int
    """`connection.failed.authentication.delay.ms`"""
    reauth_ms: Mapping[str, int]
    """`connections.max.reauth.ms` by mechanism; 0 for never."""
    clock: Clock
    """The clock for the expiry of sessions and credentials."""
    machine_clock: Clock
    """The clock for the delay of a refusal."""
    keys: Keys | None = None
    """Present where tokens are signed."""
    events: Events = field(default_factory=Events)
    outcomes: AuthenticationCounts = field(default_factory=AuthenticationCounts)

    def report_accepted(self, client: RequestConnection, mechanism: str, *, again: bool) -> None:
        """Report that a client has authenticated, or re-authenticated (`again`)."""
        if again:
            self.outcomes.let_in_again += 1
        else:
            self.outcomes.let_in += 1
        facts = {"peer": client.peer, "listener": self.listener, "mechanism": mechanism}
        facts["principal"] = str(client.session.principal)
        by = "delegation token" if client.session.is_by_token else None
        _log.info(line("re-authenticated" if again else "authenticated", **facts, by=by))
        if self.events.is_on:
            self.events.emit(CONNECTION_AUTHENTICATED, {**facts, "is_again": again})

    def report_refused(self, client: RequestConnection, mechanism: str, reason: str, *, again: bool) -> None:
        """Report that authentication failed; the connection is closed next. mechanism: empty before one is chosen."""
        if again:
            self.outcomes.refused_again += 1
        else:
            self.outcomes.refused += 1
        facts = {"peer": client.peer, "listener": self.listener, "mechanism": mechanism or None, "reason": reason}
        _log.warning(line("re-authentication failed" if again else "authentication failed", **facts))
        self._report_refused(client, mechanism, reason, again)

    def report_expired(self, client: RequestConnection, reason: str) -> None:
        """Report that a session has expired; its connection is closed next."""
        self.outcomes.expired += 1
        self._report_refused(client, client.session.mechanism or "", reason, again=True)

    def _report_refused(self, client: RequestConnection, mechanism: str, reason: str, again: bool) -> None:
        which: dict[str, Any] = {"host": client.client_host, "client_id": client.client_id, "listener": self.listener}
        which |= {"mechanism": mechanism or None, "reason": reason, "is_again": again}
        self.events.emit_repeated(CONNECTION_NOT_AUTHENTICATED, which, peer=client.peer)
