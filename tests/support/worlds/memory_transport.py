"""A transport without a socket: the test is the kernel and the peer.

Whatever the protocol writes goes to `kernel_bytes` of buffer first; what does not fit stays in the transport, which
then pauses the protocol, as asyncio's transports do with a high-water mark of 0. `read` is the peer reading.
"""

import asyncio
from collections.abc import Iterable
from typing import Any


class MemoryTransport(asyncio.Transport):
    """The transport of one connection."""

    def __init__(
        self,
        protocol: asyncio.BufferedProtocol | asyncio.Protocol,
        kernel_bytes: int = 1 << 30,
        port: int = 50_000,
        sock: object = None,
        host: str = "127.0.0.1",
    ) -> None:
        """`sock`: its socket in `get_extra_info`."""
        super().__init__()
        self.socket = sock
        self.protocol = protocol
        self.kernel_bytes = kernel_bytes
        self.is_paused = False
        self.never_pauses = False
        """Whether it does not report its buffer: asyncio's `writelines` is so in Python 3.12.1."""
        self.is_lost = False
        self.high_water = -1
        self.writes: list[int] = []
        """The size of each write, a gathered one counted as one."""
        self.in_flight = bytearray()
        """What the peer has sent and the protocol has not received."""
        self.written = asyncio.Event()
        self._step = 1 << 30
        self._kernel = bytearray()
        self._unsent = bytearray()
        self._host, self._port = host, port
        self._is_closing = False
        self._is_reading = True
        protocol.connection_made(self)

    # --- what the protocol may call ---

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        found = {"peername": (self._host, self._port), "sockname": ("127.0.0.1", 9092), "socket": self.socket}
        return found.get(name, default)

    def write_directly(self, data: bytes | bytearray | memoryview) -> int:
        """What a write to the socket itself does."""
        assert not self._unsent, "written past what waits in the transport"
        assert not self.is_lost, "written to a descriptor that may be another's"
        room = self.kernel_bytes - len(self._kernel)
        if room <= 0:
            raise BlockingIOError
        self._kernel += data[:room]
        self.written.set()
        return min(room, len(data))

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self.high_water = -1 if high is None else high

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.writelines([data])

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        assert not self._is_closing, "written to after close"
        size = 0
        for data in list_of_data:  # of many MB: copied once, as by a kernel, where there is room
            room = 0 if self._unsent else max(0, self.kernel_bytes - len(self._kernel))
            view = memoryview(data)
            self._kernel += view[:room]
            self._unsent += view[room:]
            size += len(data)
        self.writes.append(size)
        self.written.set()
        if len(self._unsent) > self.high_water >= 0 and not self.is_paused and not self.never_pauses:
            self.is_paused = True
            self.protocol.pause_writing()

    def get_write_buffer_size(self) -> int:
        return len(self._unsent)

    def is_reading(self) -> bool:
        return self._is_reading

    def pause_reading(self) -> None:
        assert self._is_reading, "paused twice"
        self._is_reading = False

    def resume_reading(self) -> None:
        assert not self._is_reading, "resumed twice"
        self._is_reading = True
        asyncio.get_running_loop().call_soon(self._deliver)

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        self._is_closing = True
        self._is_reading = False
        if not self._unsent:
            self._lose(None)

    def abort(self) -> None:
        self._is_closing = True
        self._unsent.clear()
        self._lose(None)

    # --- what the peer does ---

    def send(self, data: bytes, step: int = 1 << 30) -> None:
        """The peer sends `data`, which arrives in pieces of at most `step` bytes, as soon as the protocol receives."""
        self.in_flight += data
        self._step = step
        self._deliver()

    def _deliver(self) -> None:
        while self.in_flight and self._is_reading and not self._is_closing:
            if isinstance(self.protocol, asyncio.Protocol):
                received = bytes(self.in_flight[: self._step])
                del self.in_flight[: self._step]
                self.protocol.data_received(received)
                continue
            buffer = memoryview(self.protocol.get_buffer(-1))
            size = min(len(buffer), self._step, len(self.in_flight))
            assert size > 0, "a receive into an empty buffer"
            buffer[:size] = self.in_flight[:size]
            del self.in_flight[:size]
            self.protocol.buffer_updated(size)

    def read(self, size: int = 1 << 30) -> bytes:
        """What the peer gets when it reads up to `size` bytes."""
        data = bytes(self._kernel[:size])
        del self._kernel[:size]
        self._move_to_kernel()
        if self.is_paused and not self._unsent:
            self.is_paused = False
            if self._is_closing:
                self._lose(None)
            else:
                self.protocol.resume_writing()
        return data

    def hang_up(self) -> None:
        """The peer closes its end."""
        if not self.protocol.eof_received():
            self.close()

    def _move_to_kernel(self) -> None:
        room = self.kernel_bytes - len(self._kernel)
        self._kernel += self._unsent[:room]
        del self._unsent[:room]

    def _lose(self, error: Exception | None) -> None:
        if not self.is_lost:
            self.is_lost = True
            self.protocol.connection_lost(error)
