# compiled: mypyc
"""Frames: an i32 size and that many bytes, in both directions.

Nothing is allocated by a claimed size: an incomplete frame takes as much memory as the bytes received. An invalid size
is reported as a value with a reason in words, which recognises two common mistakes: a TLS hello and an HTTP request.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from barnabas.protocol.primitives import Buffer

SIZE: Final = struct.Struct(">i")
SIZE_BYTES: Final = 4
FRAME_BYTES_MAX: Final = 100 * 1024 * 1024  # Kafka's default of socket.request.max.bytes

_TLS_HANDSHAKE: Final = b"\x16\x03"
_HTTP_WORDS: Final = (b"GET ", b"POST", b"PUT ", b"HEAD", b"OPTI", b"DELE", b"PATC", b"CONN", b"TRAC", b"PRI ", b"HTTP")


class Split(NamedTuple):
    """The frames of a buffer. Positions are absolute in that buffer."""

    frames: list[tuple[int, int]]  # [start, end) of every complete frame, without its size
    consumed: int  # the start of the first incomplete frame, with its size
    needed: int  # bytes from `consumed` until that frame is complete; 4 while its size is not known
    refused: str | None  # why nothing after `consumed` can be a frame


def split_frames(buffer: Buffer, start: int, end: int, limit: int = FRAME_BYTES_MAX) -> Split:
    """Return every complete frame in buffer[start:end]; a frame may have at most `limit` bytes."""
    frames: list[tuple[int, int]] = []
    while end - start >= SIZE_BYTES:
        size: int = SIZE.unpack_from(buffer, start)[0]
        if not 0 <= size <= limit:
            return Split(frames, start, SIZE_BYTES, why_refused(size, limit))
        after = start + SIZE_BYTES + size
        if after > end:
            return Split(frames, start, SIZE_BYTES + size, None)
        frames.append((start + SIZE_BYTES, after))
        start = after
    return Split(frames, start, SIZE_BYTES, None)


def why_refused(size: int, limit: int) -> str:
    """Return a sentence for the operator about a size below zero or above `limit`."""
    first = SIZE.pack(size)
    if first.startswith(_TLS_HANDSHAKE):
        return "a TLS hello instead of a Kafka request"
    if first in _HTTP_WORDS:
        return "HTTP instead of a Kafka request"
    if size < 0:
        return f"a frame of {size} bytes"
    return f"a frame of {size} bytes, the limit is {limit}"


def frame(payload: Buffer) -> bytes:
    """Return the payload with its size in front."""
    return b"".join((SIZE.pack(len(payload)), payload))


class FrameBuffer:
    """A buffer from received bytes to complete frames. Accepts any bytes: `refused` is set when no frame can follow."""

    __slots__ = ("_buffer", "_needed", "limit", "refused")

    def __init__(self, limit: int = FRAME_BYTES_MAX) -> None:
        self.limit = limit
        self.refused: str | None = None
        self._buffer = bytearray()
        self._needed = SIZE_BYTES

    @property
    def is_empty(self) -> bool:
        """Whether every byte fed so far belonged to a complete frame."""
        return not self._buffer

    def feed(self, data: Buffer) -> list[memoryview]:
        """Return the frames that `data` completes, in order, as views that stay valid. None after a refusal."""
        if self.refused is not None:
            return []
        buffer = self._buffer
        buffer += data
        if len(buffer) < self._needed:
            return []
        found = split_frames(buffer, 0, len(buffer), self.limit)
        self.refused, self._needed = found.refused, found.needed
        if not found.frames:
            return []
        # The views reference the old buffer; the rest moves into a new one.
        self._buffer = buffer[found.consumed :]
        view = memoryview(buffer)
        return [view[start:end] for start, end in found.frames]
