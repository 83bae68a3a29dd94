"""The sockets that speak HTTP, and how many connections they keep.

A connection more than there may be takes the place of the one that has waited longest for its next request, else of
the oldest that gives way: whose peer has yet to prove who it is, or that follows a page which asks again by itself. So
neither many peers that say nothing or guess passwords, nor many open pages, keep anybody out.
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
    from barnabas.broker.network.network import Listening, Network
    from barnabas.broker.runtime.clock import Clock

_log = logger("http")
CONNECTIONS_MAX = 32
"""More than may follow the trace: /ready and /control answer while all of these do."""


class HttpServer:
    """Serves `pages` on bound sockets."""

    def __init__(
        self, clock: Clock, pages: Pages, mounted: Sequence[Mounted] = (), security: HttpSecurity | None = None
    ) -> None:
        """mounted: applications, each below a path of its own. security: None where it is plain HTTP for everybody."""
        self.clock = clock
        self.pages = pages
        self.mounted = mounted
        self.guard = None if security is None else security.guard
        self._security = security
        self.is_closing = False
        self._connections: dict[HttpConnection, None] = {}
        self._listening: list[Listening] = []
        self._crowding = Seldom(_log.warning)

    async def listen(self, sockets: Sequence[socket.socket], network: Network) -> None:
        """Accept connections; the address is logged."""
        security = self._security
        accepted: Callable[[], asyncio.BaseProtocol] = self._connection
        if security is not None:
            accepted = security.accepting(self._connection, network, self.clock)
        for each in sockets:
            self._listening.append(await network.listen(each, accepted, backlog=CONNECTIONS_MAX))
        host, port = sockets[0].getsockname()[:2]
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        _log.info(line("http listening", address=address, secured=None if security is None else True))

    def _connection(self, principal: Principal = ANONYMOUS) -> HttpConnection:
        from barnabas.broker.http.connection import HttpConnection  # thirty milliseconds that a start need not wait for

        return HttpConnection(self, principal)

    def connection_opened(self, connection: HttpConnection) -> None:
        """Called by the connection."""
        self._connections[connection] = None
        if len(self._connections) > CONNECTIONS_MAX:
            others = [each for each in self._connections if each is not connection]
            give_way = [each for each in others if not each.is_answering] or [each for each in others if each.gives_way]
            self._crowding.line("crowded", self.clock.now_ms(), "too many connections", allowed=CONNECTIONS_MAX)
            (give_way[0] if give_way else connection).abort()

    def connection_closed(self, connection: HttpConnection) -> None:
        """Called by the connection."""
        self._connections.pop(connection, None)

    def connection_answered(self, connection: HttpConnection) -> None:
        """Called by the connection: of all that wait for their next request, it is the one that waits shortest."""
        if self._connections.pop(connection, self) is None:
            self._connections[connection] = None

    def close(self) -> None:
        """No more connections; those there are end, what was written still leaves."""
        self.is_closing = True
        for each in self._listening:
            each.close()
        if self._security is not None:
            self._security.close()
        for connection in list(self._connections):
            if not connection.is_answering:
                connection.close()
