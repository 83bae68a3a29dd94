# compiled: mypyc
"""From received bytes to frames, with as little memory per connection as possible.

All connections of a loop receive into one shared buffer; the frames in it are served on the spot, as views. The rest of
an incomplete frame is stored aside: a short piece as it is, put back in front of the next bytes; a long one in a buffer
of its own, which grows with the bytes that have really come and never with the length that was claimed.

Knows sizes, not what a frame means, and no sockets. The owner of the socket calls `buffer()` for where to receive,
reports the bytes with `received(n)`, takes frames with `next_frame()` until there are none (or it wants no more), then
calls `settle()`. `only_frame(n)` is a shorter way for the commonest read, one whole frame and nothing else.

Invariants: a frame is valid until `settle()`; between two calls of `settle()` no other receiver on the same shared
buffer may be used; frames come out exactly as `barnabas.protocol.connection.framing` cuts them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from barnabas.broker.network.memory_limits import FrameMemory
from barnabas.protocol.connection.framing import SIZE, why_refused

SHARED_BYTES: Final = 64 << 10
_ASIDE_BYTES_MAX: Final = 16 << 10  # longer pieces of frames that outgrow the shared buffer get a buffer of their own
_GROWTH: Final = 32
_size_at: Final = SIZE.unpack_from


class FramingError(ValueError):
    """The peer does not speak Kafka's protocol, or not within our limits. The text is the reason to log."""


def _ignore(reason: str = "") -> None:
    """Replace the callbacks of a closed receiver, which holds no reference to its owner."""


def shared_buffer() -> memoryview:
    """Return a receive buffer for all receivers of one event loop."""
    return memoryview(bytearray(SHARED_BYTES))


class Receiver:
    """The receiving half of one connection."""

    __slots__ = (
        "_aside",
        "_end",
        "_memory",
        "_on_stall",
        "_own",
        "_shared",
        "_start",
        "_view",
        "_when_free",
        "is_starved",
        "received_bytes",
        "size_max",
    )

    def __init__(
        self,
        shared: memoryview,
        size_max: int,
        memory: FrameMemory,
        when_free: Callable[[], None],
        on_stall: Callable[[str], None],
    ) -> None:
        self.size_max = size_max
        """`socket.request.max.bytes`"""
        self.received_bytes = 0
        self.is_starved = False
        """There is no memory for the rest of this frame: do not receive until `when_free` is called, then `retry()`."""
        self._shared = shared
        self._memory = memory
        self._when_free = when_free
        self._on_stall = on_stall
        self._view = shared
        self._start = 0
        self._end = 0
        self._aside = b""
        self._own: bytearray | None = None

    def buffer(self) -> memoryview:
        """Return the buffer for the next bytes; never empty.

        Nothing changes until `received`: perhaps no bytes come (uvloop asks before each read; a record of TLS may be
        incomplete), and another receiver uses the shared buffer first.
        """
        aside = self._aside
        if aside and self._own is None:
            self._shared[: len(aside)] = aside
            return self._shared[len(aside) :]
        return self._view[self._end :] if self._end else self._view

    def only_frame(self, count: int) -> memoryview | None:
        """Return the frame, if `count` bytes were put into `buffer()` and are one whole frame, with nothing before or
        behind.

        Replaces `received`, `next_frame` and `settle`; the frame is valid until the next receiver is used. Returns None
        for any other bytes: then nothing was done, and those have to be called.
        """
        size = count - 4
        if self._end == 0 and not self._aside and 0 <= size <= self.size_max and _size_at(self._shared)[0] == size:
            return self._shared[4:count]
        return None

    def received(self, count: int) -> None:
        """Count `count` bytes that were put into `buffer()`."""
        if self._aside and self._own is None:  # `buffer` has put it in front of them
            self._end = len(self._aside)
            self._aside = b""
        self._end += count
        self.received_bytes += count

    def next_frame(self) -> memoryview | None:
        """Return the next complete frame without its size, or None. Raises FramingError for other bytes."""
        if self._aside:
            self._load()
        start = self._start + 4
        if start > self._end:
            return None
        size = SIZE.unpack_from(self._view, start - 4)[0]
        if not 0 <= size <= self.size_max:
            self._end = start  # the bytes behind it are no frame either
            raise FramingError(why_refused(size, self.size_max))
        after = start + size
        if after > self._end:
            return None
        self._start = after
        return self._view[start:after]

    def has_unread(self) -> bool:
        """Return whether bytes wait here that are not part of a returned frame."""
        return bool(self._aside) or self._end > self._start

    def settle(self) -> None:
        """Finish with the frames: store the rest aside, release the shared buffer."""
        left = self._end - self._start
        if self._own is not None:
            if left > SHARED_BYTES // 2 or (left and self._needed() > SHARED_BYTES):
                self._keep_own(left)
                return
            self._aside = bytes(self._view[self._start : self._end])
            self._release_own()
        elif left:
            if left > _ASIDE_BYTES_MAX and self._needed() > SHARED_BYTES:
                self._move_to_own(left)
                return
            self._aside = bytes(self._view[self._start : self._end])
        self._start = self._end = 0

    def retry(self) -> None:
        """Try again to get the missing memory."""
        if self._own is None and self._aside:
            self._load()
        self.is_starved = False
        self.settle()

    def close(self) -> None:
        """Release all memory; no callback is called any more."""
        self._when_free = _ignore
        self._on_stall = _ignore
        self._memory.forget(self)
        if self._own is not None:
            self._release_own()
        self._aside = b""
        self._start = self._end = 0

    def admit(self, size_max: int, memory: FrameMemory) -> None:
        """Allow larger frames, in this memory: the peer has authenticated."""
        self.size_max = size_max
        if memory is self._memory:  # it has authenticated again
            return
        self._memory.forget(self)
        if self._own is not None:
            self._memory.move(self, self._own, memory)
        self._memory = memory
        if self.is_starved:
            self._when_free()

    def cut_off(self, reason: str) -> None:
        """Release the memory; see `memory_limits.BufferHolder`."""
        self._on_stall(reason)

    def _load(self) -> None:
        aside = self._aside
        self._shared[: len(aside)] = aside
        self._start, self._end = 0, len(aside)
        self._aside = b""

    def _needed(self) -> int:
        """Return how large the frame at the front is, with its size; 4 while that is not known."""
        if self._end - self._start < 4:
            return 4
        return 4 + int(SIZE.unpack_from(self._view, self._start)[0])

    def _keep_own(self, left: int) -> None:
        assert self._own is not None
        if self._start:
            self._view[:left] = self._view[self._start : self._end]
            self._start, self._end = 0, left
        if left == len(self._own):
            self._move_to_own(left)

    def _move_to_own(self, left: int) -> None:
        """Move to a new buffer of this connection, larger than what has come and no larger than its frame."""
        wanted = min(max(self._needed(), left + SHARED_BYTES), left * _GROWTH)
        buffer = self._memory.take(self, wanted, self._when_free)
        self.is_starved = buffer is None
        if buffer is None:
            if self._own is None:
                self._aside = bytes(self._view[self._start : self._end])
                self._start = self._end = 0
            return
        view = memoryview(buffer)
        view[:left] = self._view[self._start : self._end]
        if self._own is not None:
            self._release_own()
        self._own, self._view = buffer, view
        self._start, self._end = 0, left

    def _release_own(self) -> None:
        assert self._own is not None
        buffer, self._own = self._own, None
        self._view = self._shared
        self._memory.give_back(self, buffer)
