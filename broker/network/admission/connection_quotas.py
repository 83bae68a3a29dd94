"""Limits of connections: of one listener, from one address, and how fast they come. Kafka's rules.

Knows sockets by their listener's name and their address, and admits them before anything else is done for them: with
TLS it is the stream that is admitted, before its handshake, as in Kafka. A connection that has to wait is not served
meanwhile, and the later ones of the same listener wait behind it; so Kafka's acceptor waits. A connection from an
address that has too many is closed at once, and one from an address that connects too often is closed after a while,
unserved: a client that retries without a pause would get nothing else.

Invariants: an admitted connection is counted until it is closed; no closed connection waits; no more connections wait
than there may be.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Protocol

from barnabas.broker.api.deferred_response import DeferredResponse
from barnabas.broker.clients.quotas.connection_rates import NO_LIMIT, ConnectionRates
from barnabas.broker.clients.quotas.sampled_rate import WindowSettings
from barnabas.broker.network.admission.connection_limits import (
    CONNECTIONS_MAX,
    CREATION_RATE,
    OF_ADDRESSES,
    ConnectionLimits,
)

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.metadata.image.client_quotas import ClientQuotas
    from barnabas.broker.runtime.clock import Clock, Timer


class Entering(Protocol):
    """A socket that has just been accepted: a connection, or the TLS stream that will have one."""

    client_host: str
    client_id: str | None
    peer: str
    quiet_sweeps: int

    @property
    def listener_name(self) -> str:
        """The name of the listener that accepted it."""

    @property
    def is_parked(self) -> bool:
        """Whether it may be silent for any time."""

    def park(self, parked: DeferredResponse) -> None:
        """Serve nothing until it is answered."""

    def close(self) -> None:
        """Close it."""

    def abort(self) -> None:
        """Close it at once."""


class Throttled(Protocol):
    """A callback for a connection that comes too early."""

    def __call__(self, connection: Entering, limit: str, wait_ms: int | None, *, is_refused: bool) -> None:
        """Report it. limit: the setting. wait_ms: None where it is unknown. is_refused: it is closed then, unserved."""


def _ignore(connection: Entering, limit: str, wait_ms: int | None, *, is_refused: bool) -> None:
    """Ignore the connection."""


class _Waiting:
    """The waiting connections of one listener; the first may have to wait until the timer."""

    def __init__(self, limit: str) -> None:
        self.limit = limit
        """The setting that they wait for."""
        self.queue: dict[Entering, asyncio.Future[None]] = {}
        self.timer: Timer | None = None


class ConnectionQuotas:
    """The admission of connections to one node."""

    def __init__(
        self,
        config: BrokerConfig,
        quotas: ClientQuotas,
        clock: Clock,
        refuse: Callable[[Entering, str], None],
        there: Iterable[Entering],
        throttled: Throttled = _ignore,
    ) -> None:
        """Admit the present connections (`there`). clock: the machine's. refuse: closes a connection, for a reason.

        throttled: called for connections that have to wait, or are refused.
        """
        self._limits = ConnectionLimits(config, quotas)
        self._clock = clock
        self._refuse = refuse
        self._throttled = throttled
        settings = WindowSettings(
            config.integer("quota.window.num"), config.integer("quota.window.size.seconds") * 1000
        )
        self._rates = ConnectionRates(settings)
        self._by_listener: Counter[str] = Counter()
        self._by_address: Counter[str] = Counter()
        self._admitted: dict[Entering, None] = {}
        self._waiting: dict[str, _Waiting] = {}
        self._turned_away: dict[Entering, Timer] = {}
        self._is_closed = False
        for connection in there:
            self._admit(connection)

    def opened(self, connection: Entering) -> None:
        """Admit a new connection now or later, or refuse it."""
        name = connection.listener_name
        waiting = self._waiting.get(name)
        if waiting is not None:
            waiting.queue[connection] = _held(connection)
            self._throttled(connection, waiting.limit, None, is_refused=False)
            return
        wait_ms = self._wait_ms(name)
        if wait_ms or not self._has_slot(name):
            self._waiting[name] = waiting = _Waiting(CREATION_RATE if wait_ms else CONNECTIONS_MAX)
            waiting.queue[connection] = _held(connection)
            self._throttled(connection, waiting.limit, wait_ms or None, is_refused=False)
            self._wait(name, waiting, wait_ms)
        else:
            self._enter(connection)

    def closed(self, connection: Entering) -> None:
        """Remove a closed connection."""
        name = connection.listener_name
        timer = self._turned_away.pop(connection, None)
        if timer is not None:
            timer.cancel()
        if connection in self._admitted:
            del self._admitted[connection]
            self._count(connection, -1)
        waiting = self._waiting.get(name)
        if waiting is not None:
            waiting.queue.pop(connection, None)
            if waiting.timer is None:
                self._go_on(name, waiting)

    def close(self) -> None:
        """Admit no connection any more, and close those that wait."""
        self._is_closed = True
        waiting, self._waiting = self._waiting, {}
        for each in waiting.values():
            if each.timer is not None:
                each.timer.cancel()
            for connection in each.queue:
                connection.close()
        for connection in list(self._turned_away):
            connection.close()

    # --- waiting connections ---

    def _wait(self, name: str, waiting: _Waiting, wait_ms: int) -> None:
        if wait_ms:
            waiting.timer = self._clock.call_later(wait_ms, partial(self._waited, name, waiting))

    def _waited(self, name: str, waiting: _Waiting) -> None:
        waiting.timer = None
        self._go_on(name, waiting)

    def _go_on(self, name: str, waiting: _Waiting) -> None:
        """Admit the first, if allowed, and those behind it."""
        while waiting.queue and not self._is_closed:
            if not self._has_slot(name):
                return
            connection = next(iter(waiting.queue))
            held = waiting.queue.pop(connection)
            self._enter(connection)
            if connection in self._admitted:
                held.set_result(None)
            wait_ms = self._wait_ms(name) if waiting.queue else 0
            if wait_ms:
                self._wait(name, waiting, wait_ms)
                return
        self._waiting.pop(name, None)

    # --- limits in force ---

    def _wait_ms(self, name: str) -> int:
        """Return for how many milliseconds a connection that comes now has to wait."""
        limits = self._limits.of_listener(name)
        if limits.rate >= NO_LIMIT and limits.broker_rate >= NO_LIMIT and not self._limits.has_quotas:
            return 0
        broker_rate = limits.broker_rate if limits.counts_for_broker else None
        return self._rates.wait_ms(name, broker_rate, limits.rate, self._now_ms())

    def _has_slot(self, name: str) -> bool:
        return self._by_listener[name] < self._limits.of_listener(name).connections_max

    def _enter(self, connection: Entering) -> None:
        name, address = connection.listener_name, connection.client_host
        refused_ms = 0
        if self._limits.has_quotas:
            counts_for_broker = self._limits.of_listener(name).counts_for_broker
            rate = self._limits.rate_of(address)
            refused_ms = self._rates.refused_ms(name, address, rate, counts_for_broker, self._now_ms())
        if refused_ms:
            _held(connection)
            self._throttled(connection, OF_ADDRESSES, refused_ms, is_refused=True)
            self._turned_away[connection] = self._clock.call_later(refused_ms, connection.close)
            return
        most = self._limits.connections_of(address)
        if self._by_address[address] >= most:
            self._refuse(connection, f"{address} has {most} connections, as many as max.connections.per.ip allows")
            return
        self._admit(connection)

    def _admit(self, connection: Entering) -> None:
        self._admitted[connection] = None
        self._count(connection, 1)

    def _count(self, connection: Entering, change: int) -> None:
        for counter, key in (
            (self._by_listener, connection.listener_name),
            (self._by_address, connection.client_host),
        ):
            counter[key] += change
            if not counter[key]:
                del counter[key]

    def _now_ms(self) -> int:
        return int(self._clock.monotonic() * 1000)


def _held(connection: Entering) -> asyncio.Future[None]:
    """Serve nothing on the connection until the future is done."""
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    connection.park(DeferredResponse(future, lambda _: None, may_be_given_up=True, is_pause=True))
    return future
