"""The broker's end of a simulated connection, as asyncio shows it to a protocol.

What the socket does not take at once waits in the transport, which tells its protocol to pause, as an event loop's
does; the rest goes when the peer reads again.

Invariant: bytes leave in the order in which they were written.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.simulation.world.network import End


class DescriptorOnly:
    """A socket of which only the descriptor is known."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor


class SimulatedTransport(asyncio.Transport):
    """`names`: `peername` and `sockname`."""

    def __init__(self, end: End, make: Callable[[], Any], names: dict[str, tuple[str, int]], descriptor: int) -> None:
        super().__init__()
        self.descriptor = descriptor
        self._end = end
        self._make = make
        self._protocol: Any = None
        self._extra: dict[str, Any] = {**names, "socket": DescriptorOnly(descriptor)}
        self._unread: deque[bytes] = deque()
        self._unsent = bytearray()
        self._is_reading = True
        self._is_closing = False
        self._is_stalled = False
        self._is_paused = False
        end.when_received, end.when_lost = self._received, self._lost

    def begin(self) -> None:
        """In the process's loop: the connection is accepted."""
        self._protocol = self._make()
        self._protocol.connection_made(self)
        self._deliver()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._extra.get(name, default)

    # --- sending ---------------------------------------------------------------------------------------------------

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert high == 0, "other limits are not simulated"

    def get_write_buffer_size(self) -> int:
        return len(self._unsent)

    def take(self, data: bytes | bytearray | memoryview) -> int:
        """How many bytes the socket takes. BlockingIOError where it takes none now."""
        count = 0 if self._is_stalled else self._room_for(len(data))
        if count == 0:
            raise BlockingIOError
        self._end.send(bytes(data[:count]))
        return count

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._end.is_lost:
            return
        self._unsent += data
        self._send_unsent()
        if self._unsent and not self._is_paused:
            self._is_paused = True
            self._protocol.pause_writing()

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def _room_for(self, size: int) -> int:
        stall = None if self._end.is_lost else self._end.network.stall_of(size)
        if stall is None:
            return size
        count, stall_us = stall
        self._is_stalled = True
        world = self._end.network.world
        self._end.reads_again_us = world.now_us + stall_us
        world.later(stall_us, self._peer_reads)
        return count

    def _peer_reads(self) -> None:
        if not self._end.process.is_dead:
            self._end.process.loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        """In the process's loop: the socket takes bytes again."""
        self._is_stalled = False
        self._send_unsent()
        if self._unsent or self._protocol is None:
            return
        if self._is_paused:
            self._is_paused = False
            self._protocol.resume_writing()
        if self._is_closing and not self._unsent:
            self._end.close()

    def _send_unsent(self) -> None:
        try:
            del self._unsent[: self.take(self._unsent) if self._unsent else 0]
        except BlockingIOError:
            return  # until the peer reads again

    # --- receiving -------------------------------------------------------------------------------------------------

    def is_reading(self) -> bool:
        return self._is_reading

    def pause_reading(self) -> None:
        self._is_reading = False

    def resume_reading(self) -> None:
        self._is_reading = True
        self._end.process.loop.call_soon(self._deliver)

    def _received(self, data: bytes) -> None:
        self._unread.append(data)
        self._deliver()

    def _deliver(self) -> None:
        if self._protocol is None:
            return
        while self._unread and self._is_reading and not self._is_closing:
            data = self._unread.popleft()
            if isinstance(self._protocol, asyncio.Protocol):
                self._protocol.data_received(data)
                continue
            buffer = memoryview(self._protocol.get_buffer(-1))
            size = min(len(buffer), len(data))
            assert size > 0, "asked to receive into an empty buffer"
            buffer[:size] = data[:size]
            if size < len(data):
                self._unread.appendleft(data[size:])
            del buffer
            self._protocol.buffer_updated(size)
            if self._is_reading and not self._is_closing:
                self._protocol.get_buffer(-1)  # as uvloop does, which then finds that there is nothing to read

    # --- the end ---------------------------------------------------------------------------------------------------

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        """Close after what was written."""
        self._is_closing = True
        self._is_reading = False
        if not self._unsent:
            self._end.close()

    def abort(self) -> None:
        """Close at once."""
        self._unsent.clear()
        self.close()

    def _lost(self) -> None:
        self._is_closing = True
        self._unsent.clear()
        self._end.when_over()
        protocol, self._protocol = self._protocol, None
        if protocol is not None:
            protocol.connection_lost(None)
