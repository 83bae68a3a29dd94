"""The network as a parameter: the operations of a broker on it once its sockets are bound.

Binding comes before there is a broker (`bound_sockets.py`), so that a port in use is reported first; except for a node
among several that was stopped, and starts again.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from barnabas.broker.network.advertised_address import default_gateways
from barnabas.broker.network.bound_sockets import bind_again

if TYPE_CHECKING:
    from barnabas.broker.network.bound_sockets import BoundAddress
    from barnabas.broker.network.descriptor import Send


class ListeningSocket(Protocol):
    """A socket on which connections are accepted."""

    def close(self) -> None:
        """Accept no more; present connections continue."""


class Network(Protocol):
    """The operations of a broker on the network."""

    @property
    def send(self) -> Send:
        """The function that gives bytes to a socket past its transport."""

    async def listen(
        self, sock: socket.socket, connection: Callable[[], asyncio.BaseProtocol], *, backlog: int
    ) -> ListeningSocket:
        """Accept connections on a bound socket; `connection` makes the protocol of each."""

    def bind_again(self, given_back: Sequence[BoundAddress]) -> list[BoundAddress]:
        """Bind new sockets for addresses that were closed. Raises OSError."""

    def default_gateways(self) -> set[str]:
        """Return the default gateways of this machine or container; none where they cannot be read."""


class LoopNetwork:
    """The machine's network, on the running event loop."""

    @property
    def send(self) -> Send:
        return os.write

    async def listen(
        self, sock: socket.socket, connection: Callable[[], asyncio.BaseProtocol], *, backlog: int
    ) -> ListeningSocket:
        return await asyncio.get_running_loop().create_server(connection, sock=sock, backlog=backlog)

    def bind_again(self, given_back: Sequence[BoundAddress]) -> list[BoundAddress]:
        return bind_again(given_back)

    def default_gateways(self) -> set[str]:
        return default_gateways()
