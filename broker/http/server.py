"""The sockets that speak HTTP, and the limit of connections.

A connection above the limit replaces the one that has waited longest for its next request, else the oldest that gives
way: one whose peer is not authenticated yet, or that streams a page which reconnects by itself. So neither many peers
that are silent or guess passwords, nor many open pages, block other clients.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from barnabas.broker.runtime.log_lines import Seldom, line, logger
from barnabas.broker.security.session.principal import ANONYMOUS, Principal

if TYPE_CHECKING:
    from barnabas.broker.http.asgi import Mounted
    from barnabas.broker.http.connection import HttpConnection
    from barnabas.broker.http.pages import Pages
    from barnabas.broker.http.secured import HttpSecurity
    from barnabas.broker.network.network import ListeningSocket, Network
    from barnabas.broker.runtime.clock import Clock

_log = logger("http")
CONNECTIONS_MAX = 32
"""More than the followers of the trace: /ready and /control answer while all of these are connected."""
IDLE_TIMEOUT_MS = 5_000


class HttpServer:
    """Serves `pages` on bound sockets."""

    def __init__(
        self,
        clock: Clock,
        pages: Pages | None,
        mounted: Sequence[Mounted] = (),
        security: HttpSecurity | None = None,
        *,
        connections_max: int = CONNECTIONS_MAX,
        idle_timeout_ms: int = IDLE_TIMEOUT_MS,
        name: str = "http",
    ) -> None:
        """Create the server. pages: None if an application is mounted at the root. mounted: applications, each below a
        separate path. security: None for plain HTTP. name: in the log.
        """
        self.clock = clock
        self.pages = pages
        self.mounted = mounted
        self.guard = None if security is None else security.guard
        self._security = security
        self._connections_max = connections_max
        self.idle_timeout_ms = idle_timeout_ms
        self._name = name
        self.is_closing = False
        self._connections: dict[HttpConnection, None] = {}
        self._listening: list[ListeningSocket] = []
        self._crowding = Seldom(_log.warning)

    async def listen(self, sockets: Sequence[socket.socket], network: Network) -> None:
        """Accept connections; the address is logged."""
        security = self._security
        accepted: Callable[[], asyncio.BaseProtocol] = self._connection
        if security is not None:
            accepted = security.accepting(self._connection, network, self.clock)
        for each in sockets:
            self._listening.append(await network.listen(each, accepted, backlog=self._connections_max))
        host, port = sockets[0].getsockname()[:2]
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        _log.info(line(f"{self._name} listening", address=address, secured=None if security is None else True))

    def _connection(self, principal: Principal = ANONYMOUS) -> HttpConnection:
        from barnabas.broker.http.connection import HttpConnection  # thirty milliseconds that a start does not need

        return HttpConnection(self, principal)

    def connection_opened(self, connection: HttpConnection) -> None:
        """Add a connection, and close another if there are too many. Called by the connection."""
        self._connections[connection] = None
        if len(self._connections) > self._connections_max:
            others = [each for each in self._connections if each is not connection]
            give_way = [each for each in others if not each.is_answering] or [each for each in others if each.gives_way]
            self._crowding.line("crowded", self.clock.now_ms(), "too many connections", allowed=self._connections_max)
            (give_way[0] if give_way else connection).abort()

    def connection_closed(self, connection: HttpConnection) -> None:
        """Remove a connection. Called by the connection."""
        self._connections.pop(connection, None)

    def connection_answered(self, connection: HttpConnection) -> None:
        """Move the connection to the end of those that wait for a request. Called by the connection."""
        if self._connections.pop(connection, self) is None:
            self._connections[connection] = None

    def close(self) -> None:
        """Accept no more connections, and close the idle ones; the others end after their answer."""
        self.is_closing = True
        for each in self._listening:
            each.close()
        if self._security is not None:
            self._security.close()
        for connection in list(self._connections):
            if not connection.is_answering:
                connection.close()
