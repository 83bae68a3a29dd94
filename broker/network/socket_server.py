"""The listening sockets and the connections accepted from them: limits, idle connections, the end.

Knows addresses and numbers of connections; the bytes on a connection are left to `connection.py`.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from barnabas.broker.network.connection import Connection
from barnabas.broker.network.descriptor import Send
from barnabas.broker.network.memory_limits import STRANGERS_BYTES_MAX, FrameMemory, SendMemory
from barnabas.broker.network.receive import shared_buffer
from barnabas.broker.network.response_batch import ResponseBatch
from barnabas.broker.runtime.events.events import Events
from barnabas.broker.runtime.events.kinds import (
    CONNECTION_AUTHENTICATED,
    CONNECTION_CLOSED,
    CONNECTION_ENDED,
    CONNECTION_OPENED,
    CONNECTION_THROTTLED,
    HANDSHAKE_FAILED,
)
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.security.session.principal import ANONYMOUS, Principal
from barnabas.protocol.security.listener_protocols import PLAINTEXT

if TYPE_CHECKING:
    from barnabas.broker.api.dispatch import Dispatcher
    from barnabas.broker.network.admission.connection_quotas import ConnectionQuotas, Entering
    from barnabas.broker.network.advertised_address import AdvertisedAddress
    from barnabas.broker.network.network import ListeningSocket, Network
    from barnabas.broker.network.tls.tls_memory import TlsContextSource, TlsMemory
    from barnabas.broker.runtime.clock import Clock, Timer

_log = logger("net")
_BACKLOG = 1024
_SWEEPS_PER_IDLE_TIME = 4


def _no_entrance(_: SocketServer) -> None:
    """Return no quotas: all connections are admitted."""


class SocketServer:
    """All sockets of one node, and what its connections share."""

    def __init__(
        self,
        clock: Clock,
        network: Network,
        *,
        request_bytes_max: int,
        queued_bytes_max: int,
        connections_max: Callable[[], int],
        connections_idle_ms_max: int,
        sockets_max: int = sys.maxsize,
        events: Events | None = None,
        find_entrance: Callable[[SocketServer], ConnectionQuotas | None] = _no_entrance,
    ) -> None:
        """Listen on no socket yet. `sockets_max`: the number of connections that there are descriptors for.

        `find_entrance`: returns the connection quotas once there are limits; called at each connection until then.
        """
        self.loop = asyncio.get_running_loop()
        self.request_bytes_max = request_bytes_max
        queued_bytes_max = queued_bytes_max if queued_bytes_max > 0 else sys.maxsize
        self.frame_memory = FrameMemory(queued_bytes_max, clock)
        self.strangers_memory = FrameMemory(min(queued_bytes_max, STRANGERS_BYTES_MAX), clock)
        """For frames from peers that have not authenticated yet."""
        self.send_memory = SendMemory()
        self.shared_buffer = shared_buffer()
        self.send: Send = network.send
        """Gives bytes to the kernel past a transport in which nothing waits."""
        self._clock = clock
        self._events = events or Events()
        self._network = network
        self._connections_max = connections_max
        self._sockets_max = sockets_max
        self._idle_ms_max = connections_idle_ms_max
        self._connections: dict[Connection, None] = {}
        self._sockets: dict[Entering, None] = {}
        """The accepted sockets: connections, and with TLS the streams, from before their handshake."""
        self._find_entrance = find_entrance
        self._entrance: ConnectionQuotas | None = None
        self.turn = ResponseBatch(self.loop, self._connections)
        self._listening: list[ListeningSocket] = []
        self._is_over = False
        """Whether no new connections are accepted, also on sockets that are about to listen."""
        self._all_gone: asyncio.Event | None = None
        self._next_sweep: Timer | None = None
        self._tls_memory: TlsMemory | None = None

    async def listen(
        self,
        sockets: list[socket.socket],
        dispatcher: Dispatcher,
        advertised: AdvertisedAddress | None = None,
        name: str = PLAINTEXT,
        tls: TlsContextSource | None = None,
    ) -> None:
        """Accept connections on bound sockets, to be served by `dispatcher`.

        advertised: the address for peers; None for the one in the services. name: the listener's in the configuration.
        tls: the endpoint if it uses TLS. After `stop_accepting` was called no socket listens any more.
        """

        def connection(principal: Principal = ANONYMOUS) -> Connection:
            session = dispatcher.session(name)
            if principal is not ANONYMOUS and session.is_authenticated:
                session.authenticated(principal)
            return Connection(self, dispatcher, advertised, session)

        accepted = connection if tls is None else self._secured(tls, connection, name)
        for each in sockets:
            if self._is_over:
                return
            listening = await self._network.listen(each, accepted, backlog=_BACKLOG)
            self._listening.append(listening)
            if self._is_over:
                listening.close()

    def _secured(
        self, tls: TlsContextSource, connection: Callable[[Principal], Connection], name: str
    ) -> Callable[[], asyncio.BufferedProtocol]:
        """Return a factory of the protocol of each socket that needs a TLS handshake before there is a connection."""
        from barnabas.broker.network.tls.handshakes import Handshakes
        from barnabas.broker.network.tls.tls_memory import TlsMemory
        from barnabas.broker.network.tls.tls_stream import TlsStream

        if self._tls_memory is None:
            self._tls_memory = TlsMemory(self.loop, Handshakes(self._clock), self.send)
        memory = self._tls_memory
        failed = partial(self._handshake_failed, name)
        return lambda: TlsStream(memory, tls, connection, name, self.socket_opened, self.socket_closed, failed)

    def watch_idle(self) -> None:
        """Begin to close idle connections."""
        if self._idle_ms_max > 0 and not self._is_over:
            self._next_sweep = self._clock.call_later(self._idle_ms_max / _SWEEPS_PER_IDLE_TIME, self._sweep_idle)

    # --- called by the connections ---------------------------------------------------------------------------------

    def connection_opened(self, connection: Connection) -> None:
        self._connections[connection] = None
        is_in = connection.is_inside_tls
        if not is_in and self._is_refused(connection):
            return
        _log.debug(line("connection opened", peer=connection.peer, connections=len(self._connections)))
        if self._events.is_on:
            self._report_opened(connection)
        if not is_in and self._entrance is not None:
            self._entrance.opened(connection)

    def socket_opened(self, socket: Entering) -> None:
        """Admit or refuse a socket with TLS before its handshake."""
        if not self._is_refused(socket) and self._entrance is not None:
            self._entrance.opened(socket)

    def socket_closed(self, socket: Entering) -> None:
        """Remove a closed socket, with the connection that it may have had."""
        if socket in self._sockets:
            del self._sockets[socket]
            if self._entrance is not None:
                self._entrance.closed(socket)

    def _is_refused(self, socket: Entering) -> bool:
        """Refuse a socket above the limit; return whether it was refused. One without a handshake yet makes room."""
        self._entrance = self._entrance or self._find_entrance(self)
        self._sockets[socket] = None
        reason = self._refusal()
        if reason is None or (self._tls_memory is not None and self._tls_memory.handshakes.give_way(reason)):
            return False
        self.refuse(socket, reason)
        return True

    def _report_opened(self, connection: Connection) -> None:
        self._events.emit(CONNECTION_OPENED, self._facts(connection))
        session = connection.session
        if session.principal is not ANONYMOUS:  # by its certificate: with SASL it is not authenticated yet
            facts = {"peer": connection.peer, "listener": session.listener, "mechanism": "SSL"}
            self._events.emit(
                CONNECTION_AUTHENTICATED, {**facts, "principal": str(session.principal), "is_again": False}
            )

    def _handshake_failed(self, listener: str, peer: str, host: str, reason: str) -> None:
        which = {"host": host, "listener": listener, "reason": reason}
        self._events.emit_repeated(HANDSHAKE_FAILED, which, peer=peer)

    def throttled(self, connection: Entering, limit: str, wait_ms: int | None, *, is_refused: bool) -> None:
        """Report a connection that comes too early: it waits, or is closed after a while."""
        which = {
            "host": connection.client_host,
            "listener": connection.listener_name,
            "limit": limit,
            "is_refused": is_refused,
        }
        self._events.emit_repeated(CONNECTION_THROTTLED, which, peer=connection.peer, wait_ms=wait_ms)

    def refuse(self, connection: Entering, reason: str) -> None:
        """Close a connection that is not admitted, with one log line that gives the reason."""
        _log.warning(line("connection refused", peer=connection.peer, reason=reason))
        self._report_closing(connection, None, reason)
        connection.close()

    def _refusal(self) -> str | None:
        """Return why the present connections are too many; None if they are not."""
        count = len(self._sockets)
        connections_max = self._connections_max()
        if count > connections_max:
            return f"more than max.connections={connections_max}"
        if count > self._sockets_max:
            return f"more than {self._sockets_max} connections, all that the limit of open files (ulimit -n) allows"
        return None

    @property
    def connections_count(self) -> int:
        """How many connections there are."""
        return len(self._connections)

    @property
    def connections(self) -> Iterator[Connection]:
        """The present connections, the oldest first."""
        return iter(list(self._connections))

    @property
    def sockets(self) -> Iterator[Entering]:
        """The accepted sockets: connections, and streams that will have one."""
        return iter(list(self._sockets))

    def connection_closed(self, connection: Connection) -> None:
        self._connections.pop(connection, None)
        self.socket_closed(connection)
        _log.debug(line("connection ended", peer=connection.peer, connections=len(self._connections)))
        if self._events.is_on:
            self._events.emit(CONNECTION_ENDED, {**self._facts(connection), "client_id": connection.client_id})
        if self._all_gone is not None and not self._connections:
            self._all_gone.set()

    def connection_refused(self, connection: Connection, api: str | None, reason: str) -> None:
        """Log why a connection is about to close because of its peer."""
        facts = {"peer": connection.peer, "api": api, "client_id": connection.client_id, "reason": reason}
        _log.warning(line("connection closed", **facts))
        self._report_closing(connection, api, reason)

    def connection_failed(self, connection: Connection, error: Exception) -> None:
        """Log that a connection is about to close because of an error in the broker."""
        facts = {"peer": connection.peer, "client_id": connection.client_id, "error": repr(error)}
        _log.error(line("connection failed", **facts), exc_info=error)

    def _report_closing(self, connection: Entering, api: str | None, reason: str) -> None:
        if self._events.is_on:
            facts = {"peer": connection.peer, "client_id": connection.client_id, "api": api, "reason": reason}
            self._events.emit(CONNECTION_CLOSED, facts)

    def _facts(self, connection: Connection) -> dict[str, object]:
        return {"peer": connection.peer, "connections": len(self._connections)}

    def _sweep_idle(self) -> None:
        for connection in self._all():
            if connection.is_parked:
                connection.quiet_sweeps = 0
            connection.quiet_sweeps += 1
            if connection.quiet_sweeps > _SWEEPS_PER_IDLE_TIME:
                _log.info(line("connection closed", peer=connection.peer, reason="connections.max.idle.ms"))
                self._report_closing(connection, None, "connections.max.idle.ms")
                connection.close()
        self.watch_idle()

    # --- the end ---------------------------------------------------------------------------------------------------

    def stop_accepting(self) -> None:
        """Accept no new connections; the present ones continue, to be closed by `drain` or `abort`."""
        self._is_over = True
        if self._next_sweep is not None:
            self._next_sweep.cancel()
        for each in self._listening:
            each.close()

    async def drain(self, timeout_ms: float) -> None:
        """Close every connection once the request in flight on it is answered, at the latest after `timeout_ms`.

        This is the loop's time and not the clock's: a clock that stands still delays no stop.
        """
        if self._entrance is not None:
            self._entrance.close()
        self._all_gone = asyncio.Event()
        timer = self.loop.call_later(timeout_ms / 1000, self._all_gone.set)
        self._give_up_handshakes()
        for connection in list(self._connections):
            connection.finish()
        if self._connections:
            await self._all_gone.wait()
        timer.cancel()
        self.abort()

    def abort(self) -> None:
        """Close every connection at once, even with a request in flight."""
        self._give_up_handshakes()
        for each in self._all():
            each.abort()

    def _all(self) -> list[Entering]:
        """Return the connections, and the streams around them."""
        every: Iterable[Entering] = (*self._connections, *self._sockets)
        return list(dict.fromkeys(every))

    def _give_up_handshakes(self) -> None:
        if self._tls_memory is not None:
            self._tls_memory.handshakes.close()
