"""The four codecs of record batches, each through a library in C, imported at first use.

Decompression is a stream of chunks: memory depends on the bytes that were actually sent, never on a claimed length, and
a limit on the total stops a decompression bomb. Every failure is a DecodeError.

Bytes after a gzip member or an LZ4 frame that are not another member, and fewer bytes than a size after a snappy
stream, are ignored, as in Kafka.

Framings (KIP-110 and the Java client): gzip is RFC 1952, also several members; snappy is written in the xerial block
stream of the Java library and read in that and as one raw block (librdkafka); lz4 is the LZ4 frame format with
independent blocks, which the Java reader requires; zstd is a standard frame. A zstd stream cut between two blocks
returns its content without an error: the reader of the records, which knows the count, detects it.

zstd is in Python's standard library from 3.14 on, and in the package zstandard before: see zstd_frames.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Protocol

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.primitives import Buffer
from barnabas.protocol.records import lz4_frames, zstd_frames

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
COMPRESSION_NAMES: dict[int, str] = {NONE: "none", GZIP: "gzip", SNAPPY: "snappy", LZ4: "lz4", ZSTD: "zstd"}
COMPRESSION_IDS: dict[str, int] = {name: number for number, name in COMPRESSION_NAMES.items()}
LIBRARIES = {SNAPPY: "cramjam", LZ4: "cramjam", ZSTD: zstd_frames.LIBRARY}

DECOMPRESSED_BYTES_MAX = 1 << 30  # default limit of one batch: a thousand times the largest batch Kafka accepts untuned

_CHUNK_BYTES = 1 << 16  # output returned at a time
_INPUT_BYTES = 1 << 14  # input fed at a time: zlib copies what it did not consume at every call

_LZ4_FLAGS_POSITION = 4  # after the frame's magic number
_LZ4_INDEPENDENT_BLOCKS = 0x20

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"  # version 1, readable by version 1
_XERIAL_BLOCK_BYTES = 32 * 1024  # the Java library's default
_SNAPPY_RATIO_MAX = 22  # a copy of 64 bytes takes 3, so a block cannot grow more than 64/3
_ZSTD_LEVEL = 3


def compress(compression: int, data: Buffer, level: int | None = None) -> bytes:
    """Return `data` in the framing of Kafka's Java client. `level` is on the codec's scale; None is its default."""
    if compression == NONE:
        return bytes(data)
    if compression == GZIP:
        import zlib

        # The header has no time in it: the same records always give the same bytes.
        gzip = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, 31)
        return gzip.compress(data) + gzip.flush()
    if compression == SNAPPY:
        return _compress_snappy(data)
    if compression == LZ4:
        return lz4_frames.frame_of(data, 0 if level is None else level)
    if compression == ZSTD:
        return zstd_frames.frame_of(data, _ZSTD_LEVEL if level is None else level)
    raise ValueError(f"no compression has the number {compression}")


class Compressor(Protocol):
    """A compressor of a stream of pieces, in the framing of `compress`."""

    def compress(self, data: bytes, /) -> bytes:
        """Compress the next piece; return the output that is ready."""

    def flush(self) -> bytes:
        """Return the rest of the output. No piece may follow."""


def new_compressor(compression: int) -> Compressor | None:
    """Return a stream at the codec's default level, None without compression: for records not held as a whole."""
    if compression == NONE:
        return None
    if compression == GZIP:
        import zlib

        return zlib.compressobj(-1, zlib.DEFLATED, 31)
    if compression == SNAPPY:
        return _SnappyStream()
    if compression == LZ4:
        return lz4_frames.FrameStream()
    if compression == ZSTD:
        return zstd_frames.new_stream(_ZSTD_LEVEL)
    raise ValueError(f"no compression has the number {compression}")


class _SnappyStream:
    def __init__(self) -> None:
        self._pending = bytearray()
        self._ready = _XERIAL_HEADER

    def compress(self, data: bytes, /) -> bytes:
        self._pending += data
        whole = len(self._pending) // _XERIAL_BLOCK_BYTES * _XERIAL_BLOCK_BYTES
        ready, self._ready = self._ready + _snappy_blocks(memoryview(bytes(self._pending[:whole]))), b""
        del self._pending[:whole]
        return ready

    def flush(self) -> bytes:
        return self._ready + _snappy_blocks(memoryview(bytes(self._pending)))


def is_available(compression: int) -> bool:
    """Return whether the codec's library is installed here; none and gzip always are."""
    library = LIBRARIES.get(compression)
    return library is None or find_spec(library) is not None


def decompress(compression: int, data: Buffer, max_bytes: int = DECOMPRESSED_BYTES_MAX) -> bytes:
    """Return all of `data` decompressed; DecodeError if it is damaged or exceeds `max_bytes`."""
    return b"".join(decompress_chunks(compression, data, max_bytes))


def decompress_chunks(compression: int, data: Buffer, max_bytes: int = DECOMPRESSED_BYTES_MAX) -> Iterator[bytes]:
    """Yield `data` decompressed in pieces (for snappy a block at a time); DecodeError beyond `max_bytes` in all."""
    stream = _STREAMS.get(compression)
    if stream is None:
        raise DecodeError(f"unknown compression {compression}")
    total = 0
    for chunk in stream(data):
        total += len(chunk)
        if total > max_bytes:
            raise DecodeError(f"{COMPRESSION_NAMES[compression]} data grows beyond {max_bytes} bytes")
        yield chunk


def _compress_snappy(data: Buffer) -> bytes:
    return _XERIAL_HEADER + _snappy_blocks(memoryview(data))


def _snappy_blocks(view: memoryview) -> bytes:
    from cramjam import snappy

    out: list[bytes] = []
    for start in range(0, len(view), _XERIAL_BLOCK_BYTES):
        block = bytes(snappy.compress_raw(view[start : start + _XERIAL_BLOCK_BYTES]))
        out += (len(block).to_bytes(4, "big"), block)
    return b"".join(out)


def _stored_chunks(data: Buffer) -> Iterator[bytes]:
    yield bytes(data)


def _gzip_chunks(data: Buffer) -> Iterator[bytes]:
    import zlib

    member, view = zlib.decompressobj(31), memoryview(data)
    may_be_nothing = False  # a member after the first, without output yet
    try:
        for start in range(0, len(view), _INPUT_BYTES):
            pending: Buffer = view[start : start + _INPUT_BYTES]
            while len(pending):
                if member.eof:
                    member, may_be_nothing = zlib.decompressobj(31), True
                chunk = member.decompress(pending, _CHUNK_BYTES)
                pending = member.unconsumed_tail or member.unused_data
                if chunk:
                    may_be_nothing = False
                    yield chunk
        while not member.eof and (chunk := member.decompress(b"", _CHUNK_BYTES)):
            may_be_nothing = False
            yield chunk
    except zlib.error as error:
        if may_be_nothing:
            return
        raise DecodeError(f"gzip data is damaged: {error}") from error
    if not member.eof and not may_be_nothing:
        raise DecodeError("gzip data ends too early")


def _snappy_chunks(data: Buffer) -> Iterator[bytes]:
    view = memoryview(data)
    if view[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC:
        yield _snappy_block(view)
        return
    position = len(_XERIAL_HEADER)
    if len(view) < position:
        raise DecodeError("snappy data ends inside its xerial header")
    while position + 4 <= len(view):
        size = int.from_bytes(view[position : position + 4], "big")
        position += 4
        if size > len(view) - position:
            raise DecodeError(f"snappy block at {position} claims {size} bytes, but {len(view) - position} are left")
        yield _snappy_block(view[position : position + size])
        position += size


def _snappy_block(block: memoryview) -> bytes:
    from cramjam import DecompressionError, snappy

    # The block begins with its decompressed length, which the library would allocate without a check.
    claimed = 0
    for shift, byte in zip(range(0, 35, 7), block[:5], strict=False):
        claimed |= (byte & 127) << shift
        if byte < 128:
            break
    if claimed > _SNAPPY_RATIO_MAX * len(block):
        raise DecodeError(f"snappy block of {len(block)} bytes claims {claimed}")
    try:
        return bytes(snappy.decompress_raw(block))
    except DecompressionError as error:
        raise DecodeError(f"snappy data is damaged: {error}") from error


def lz4_blocks_are_independent(data: Buffer) -> bool:
    """Return whether an LZ4 frame can be read block by block, as the Java client requires.
    Other frames are read here, too. False for bytes that are no frame.
    """
    return len(data) > _LZ4_FLAGS_POSITION and bool(data[_LZ4_FLAGS_POSITION] & _LZ4_INDEPENDENT_BLOCKS)


_STREAMS = {
    NONE: _stored_chunks,
    GZIP: _gzip_chunks,
    SNAPPY: _snappy_chunks,
    LZ4: lz4_frames.read_frame,
    ZSTD: zstd_frames.read_frames,
}
