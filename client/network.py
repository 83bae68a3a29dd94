"""The client's network: connecting, and waiting for the first response. Simulations use their own implementation.

It knows only bytes; connection.py knows their meaning.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Protocol


class Socket(Protocol):
    """The used part of a socket. Calls block, up to the timeout that was set last: TimeoutError, OSError."""

    def settimeout(self, value: float, /) -> None:
        """Set the limit for one call in seconds."""

    def sendall(self, data: bytes, /) -> None:
        """Send all data."""

    def recv_into(self, buffer: memoryview, /) -> int:
        """Receive bytes and return their number; 0 if the other side closed."""

    def close(self) -> None:
        """Close the socket; may be called twice."""


class ClientNetwork(Protocol):
    """The source of the client's connections."""

    def connect(self, address: tuple[str, int], timeout_s: float) -> Socket:
        """Connect to host and port. TimeoutError, UnicodeError for an invalid host name, OSError."""

    def wait(self, sockets: Iterable[Any], timeout_s: float) -> bool:
        """Return whether one of these sockets of `connect` gets data, or its end, before the timeout."""


class SystemNetwork:
    """The machine's network."""

    def connect(self, address: tuple[str, int], timeout_s: float) -> socket.socket:
        opened = socket.create_connection(address, timeout=timeout_s)
        with suppress(OSError):  # only slower; the peer may be gone: the next send fails then
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return opened

    def wait(self, sockets: Iterable[Any], timeout_s: float) -> bool:
        """Wait by poll, as select takes no descriptor above 1023, and the program's number of files is unknown."""
        waiting = select.poll()
        for each in sockets:
            waiting.register(each, select.POLLIN)
        return bool(waiting.poll(timeout_s * 1000))
