# compiled: mypyc
"""Limits of the memory that peers may use, in both directions.

Incoming: frames that are too large for the shared buffer are collected in buffers of their own. Together these stay
under `queued.max.request.bytes`; a connection that would need more stops being read until others have finished. As in
Kafka, one frame may overshoot the limit, or no client could ever send a large one; and when all connections with
buffers wait, the one that requests a buffer gets its own. A peer that holds such memory and sends next to nothing for
`STALLED_MS` while others wait for it is cut off: the limit must not become a way to stop the broker. So there are two
such memories: peers that have not authenticated yet have another one than the others.

Outgoing: what a peer does not read stays in its transport. A connection writes a piece only when all before it has
gone to the kernel, so at most one piece per connection waits; pieces get small when the waiting ones add up. The
buffers of large pieces are used again: a new one of this size costs a page fault for every 4 KiB.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from barnabas.broker.runtime.clock import Clock

STALLED_MS: Final = 10_000
_STALLED_PART: Final = 6
"""A peer may take so many times `STALLED_MS` to fill what it holds, while others wait."""
_STALLED_BYTES_MAX: Final = 1 << 20
"""A peer that sends this much in `STALLED_MS` is not stalled, however much it holds."""
STRANGERS_BYTES_MAX: Final = 16 << 20
"""For all peers that have not authenticated yet: their requests fit the shared buffer, but for the largest tokens."""
_SPARE_BYTES_MAX: Final = 4 << 20

SEND_PIECE_BYTES: Final = (1 << 20) + (4 << 10)
"""1 MiB, the most that stock consumers want of a partition, and what is around it in an answer."""
SEND_PIECE_BYTES_WHEN_FULL: Final = 32 << 10
SEND_BYTES_UNREAD_MAX: Final = 32 << 20
_SPARE_PIECES_MAX: Final = 4


class BufferHolder(Protocol):
    """A holder of frame buffers, seen from the memory."""

    received_bytes: int
    """How much has ever arrived."""

    def cut_off(self, reason: str) -> None:
        """Release all buffers now."""


class FrameMemory:
    """The buffers of frames that are still arriving."""

    def __init__(self, limit_bytes: int, clock: Clock) -> None:
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self._clock = clock
        self._holders: dict[BufferHolder, int] = {}
        self._waiting: dict[BufferHolder, Callable[[], None]] = {}
        self._spares: list[bytearray] = []
        self._watched: dict[BufferHolder, int] = {}
        """How much had arrived from each holder when the watch began; only of holders that could receive ever since."""
        self._is_watching = False

    def take(self, holder: BufferHolder, size: int, when_free: Callable[[], None]) -> bytearray | None:
        """Return a buffer of at least `size` bytes for `holder`; or None, and call `when_free` when to try again.

        The buffer may contain bytes of an earlier use.
        """
        self.forget(holder)
        others_bytes = self.used_bytes - self._holders.get(holder, 0)
        if others_bytes >= self.limit_bytes and not self._all_wait_but(holder):
            self._waiting[holder] = when_free
            self._watch()
            return None
        buffer = self._spare(size)
        self.used_bytes += len(buffer)
        self._holders[holder] = self._holders.get(holder, 0) + len(buffer)
        return buffer

    def give_back(self, holder: BufferHolder, buffer: bytearray, *, is_spare: bool = True) -> None:
        """Take back a buffer of `holder`. A spare one is used again: nothing may refer to it any more."""
        self.used_bytes -= len(buffer)
        self._holders[holder] -= len(buffer)
        if not self._holders[holder]:
            del self._holders[holder]
            self._watched.pop(holder, None)
        if is_spare and sum(map(len, self._spares)) + len(buffer) <= _SPARE_BYTES_MAX:
            self._spares.append(buffer)
        waiting, self._waiting = self._waiting, {}
        for holder, when_free in waiting.items():
            self._watched.pop(holder, None)
            when_free()

    def forget(self, holder: BufferHolder) -> None:
        """Remove `holder` from those that wait."""
        if self._waiting.pop(holder, None) is not None:
            self._watched.pop(holder, None)

    def move(self, holder: BufferHolder, buffer: bytearray, to: FrameMemory) -> None:
        """Move a buffer to the other memory, which may overshoot its limit by it."""
        to.used_bytes += len(buffer)
        to._holders[holder] = to._holders.get(holder, 0) + len(buffer)
        self.give_back(holder, buffer, is_spare=False)

    def _all_wait_but(self, holder: BufferHolder) -> bool:
        """Return whether no other holder can continue: then `holder` must, or none of them ever finishes."""
        return all(other is holder or other in self._waiting for other in self._holders)

    def _spare(self, size: int) -> bytearray:
        for index, buffer in enumerate(self._spares):
            if size <= len(buffer) <= 4 * size:
                return self._spares.pop(index)
        return bytearray(size)

    def _watch(self) -> None:
        if not self._is_watching:
            self._is_watching = True
            self._watched = {holder: holder.received_bytes for holder in self._holders}
            self._clock.call_later(STALLED_MS, self._cut_off_stalled)

    def _cut_off_stalled(self) -> None:
        self._is_watching = False
        if self._waiting:
            for holder in [each for each in self._watched if self._is_stalled(each)]:
                holder.cut_off("stalled inside a large frame while others wait for memory")
        if self._waiting:
            self._watch()

    def _is_stalled(self, holder: BufferHolder) -> bool:
        """Return whether so little has come since the watch began that others would wait for more than a minute."""
        due_bytes = min(self._holders[holder] // _STALLED_PART, _STALLED_BYTES_MAX)
        return holder not in self._waiting and holder.received_bytes - self._watched[holder] < due_bytes


class SendMemory:
    """The memory for what is written to peers."""

    def __init__(self) -> None:
        self.unread_bytes = 0
        """The size of all buffers that are not with the kernel whole, since their peers do not read."""
        self._spares: list[bytearray] = []

    def take_buffer(self) -> bytearray:
        """Return a buffer for the next piece of a response, with bytes of an earlier use."""
        if self.unread_bytes >= SEND_BYTES_UNREAD_MAX:
            return bytearray(SEND_PIECE_BYTES_WHEN_FULL)
        return self._spares.pop() if self._spares else bytearray(SEND_PIECE_BYTES)

    def give_back(self, buffer: bytearray) -> None:
        """Take back a buffer of `take_buffer`, which nothing reads any more."""
        if len(buffer) == SEND_PIECE_BYTES and len(self._spares) < _SPARE_PIECES_MAX:
            self._spares.append(buffer)
