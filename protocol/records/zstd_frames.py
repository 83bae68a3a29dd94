"""zstd frames, by Python's standard library from 3.14 on, and by the package zstandard before.

Both use the same C library and produce the same bytes. Data that end inside a frame return their content without error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Protocol

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.primitives import Buffer

_CHUNK_BYTES = 1 << 16  # output returned at a time
_WINDOW_LOG_MAX = 27  # zstd's own default limit, what level 22 needs; reserved, not touched, until used


class StreamCompressor(Protocol):
    """A compressor of a stream of pieces."""

    def compress(self, data: bytes, /) -> bytes:
        """Compress the next piece; return the output that is ready."""

    def flush(self) -> bytes:
        """Return the rest of the output. No piece may follow."""


if sys.version_info >= (3, 14):
    LIBRARY = "compression.zstd"

    def frame_of(data: Buffer, level: int) -> bytes:
        """Return `data` as one frame, which contains its length."""
        from compression import zstd

        return zstd.compress(data, level)

    def new_stream(level: int) -> StreamCompressor:
        """Return a stream that becomes one frame."""
        from compression import zstd

        return zstd.ZstdCompressor(level)

    def read_frames(data: Buffer) -> Iterator[bytes]:
        """Yield the content of the frames in `data`, in pieces; DecodeError if they are damaged."""
        from compression import zstd

        options = {zstd.DecompressionParameter.window_log_max: _WINDOW_LOG_MAX}
        pending: Buffer = data
        try:
            while len(pending):
                frame = zstd.ZstdDecompressor(options=options)
                while not frame.eof:
                    chunk = frame.decompress(pending, _CHUNK_BYTES)
                    pending = b""
                    if chunk:
                        yield chunk
                    elif frame.needs_input:
                        return  # the data end inside the frame
                pending = frame.unused_data
        except zstd.ZstdError as error:
            raise DecodeError(f"zstd data is damaged: {error}") from error

else:
    LIBRARY = "zstandard"

    def frame_of(data: Buffer, level: int) -> bytes:
        """Return `data` as one frame, which contains its length."""
        import zstandard

        return zstandard.ZstdCompressor(level=level).compress(data)

    def new_stream(level: int) -> StreamCompressor:
        """Return a stream that becomes one frame."""
        import zstandard

        return zstandard.ZstdCompressor(level=level).compressobj()

    def read_frames(data: Buffer) -> Iterator[bytes]:
        """Yield the content of the frames in `data`, in pieces; DecodeError if they are damaged."""
        import zstandard

        decompressor = zstandard.ZstdDecompressor(max_window_size=1 << _WINDOW_LOG_MAX)
        try:
            with decompressor.stream_reader(data, read_across_frames=True) as reader:
                while chunk := reader.read(_CHUNK_BYTES):
                    yield chunk
        except zstandard.ZstdError as error:
            raise DecodeError(f"zstd data is damaged: {error}") from error
