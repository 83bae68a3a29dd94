"""The network for the client: connecting, and waiting for whoever answers first. Simulated worlds put their own in.

It knows bytes only; what they mean is `connection`'s business.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Protocol


class Socket(Protocol):
    """What the client uses of a socket. Calls block, up to the timeout that was set last: TimeoutError, OSError."""

    def settimeout(self, value: float, /) -> None:
        """How many seconds one call may take."""

    def sendall(self, data: bytes, /) -> None:
        """Send all of it."""

    def recv_into(self, buffer: memoryview, /) -> int:
        """How many bytes came; 0 where the other side closed."""

    def close(self) -> None:
        """Close it; it may be closed twice."""


class Network(Protocol):
    """Where the client gets its connections."""

    def connect(self, address: tuple[str, int], timeout_s: float) -> Socket:
        """A connection to host and port. TimeoutError, UnicodeError for no name of a host, OSError."""

    def wait(self, sockets: Iterable[Any], timeout_s: float) -> bool:
        """Whether one of these, all of `connect`'s, has something to read before that, or its end."""


class SystemNetwork:
    """The machine's network."""

    def connect(self, address: tuple[str, int], timeout_s: float) -> socket.socket:
        opened = socket.create_connection(address, timeout=timeout_s)
        with suppress(OSError):
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return opened

    def wait(self, sockets: Iterable[Any], timeout_s: float) -> bool:
        """By poll, as select takes no descriptor above 1023, and it is not known how many files the program has."""
        waiting = select.poll()
        for each in sockets:
            waiting.register(each, select.POLLIN)
        return bool(waiting.poll(timeout_s * 1000))
