"""A network without sockets: a `barnabas.broker.network.network.Network` whose peers are made by the test."""

import asyncio
import os
import socket
from collections.abc import Callable, Sequence
from typing import Any

from barnabas.broker.network.bound_sockets import BoundAddress
from tests.support.worlds.memory_transport import MemoryTransport


class MemoryListening:
    """One socket that is listened on."""

    def __init__(self, connection: Callable[[], asyncio.BaseProtocol]) -> None:
        self.is_closed = False
        self._connection = connection

    def close(self) -> None:
        self.is_closed = True

    def connect(self) -> MemoryTransport:
        """A peer connects."""
        assert not self.is_closed, "connection refused"
        protocol: Any = self._connection()
        return MemoryTransport(protocol)


class MemoryNetwork:
    """Remembers the listening addresses, in order."""

    send = staticmethod(os.write)

    def __init__(self) -> None:
        self.listening: list[MemoryListening] = []

    async def listen(
        self, sock: socket.socket, connection: Callable[[], asyncio.BaseProtocol], *, backlog: int
    ) -> MemoryListening:
        self.listening.append(MemoryListening(connection))
        return self.listening[-1]

    def bind_again(self, given_back: Sequence[BoundAddress]) -> list[BoundAddress]:
        return list(given_back)

    def default_gateways(self) -> set[str]:
        return set()
