"""LZ4 frames based on cramjam's LZ4 blocks: written as Kafka's clients read them, and read in the same way.

cramjam reads frames too, but only as a whole, without a size limit, and does not return where one ends. Here a frame is
read block by block, and memory depends on its blocks: 4 MiB is the largest one. The checksums of headers and blocks are
verified; that of the content is ignored, as in Kafka.

A block may refer to the 64 KiB before it. cramjam's blocks are independent, so those 64 KiB are put in front of such a
block as literal bytes: a block begins with a sequence, which begins with literals.

Kafka reads one frame, and nothing after it.

The format: https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md
"""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.primitives import Buffer

BEGIN = bytes.fromhex("04224d18604082")  # version 1, blocks of at most 64 KiB that do not depend on each other
END = bytes(4)
BLOCK_BYTES = 1 << 16

_MAGIC, _SKIPPED_MAGIC = 0x184D2204, 0x184D2A50  # the last four bits of a frame to skip are free
_VERSION, _VERSION_1 = 0xC0, 0x40
_INDEPENDENT, _BLOCK_CHECKSUM, _CONTENT_SIZE, _CONTENT_CHECKSUM, _RESERVED, _DICTIONARY = 0x20, 0x10, 8, 4, 2, 1
_STORED = 1 << 31  # in the size of a block that is not compressed
_HISTORY_BYTES = 1 << 16
_THOROUGH_FROM = 3


def frame_of(data: Buffer, level: int) -> bytes:
    """Return `data` as one frame, at a level of LZ4's frames: below 3 the fast method, up to 12 the thorough one."""
    return BEGIN + (_blocks_of(data) if level < _THOROUGH_FROM else _thorough_blocks_of(data, level)) + END


def _blocks_of(data: Buffer) -> bytes:
    from cramjam import lz4

    out: list[bytes] = []
    view = memoryview(data)
    for start in range(0, len(view), BLOCK_BYTES):
        plain = view[start : start + BLOCK_BYTES]
        block = bytes(lz4.compress_block(plain, store_size=False))
        if len(block) < len(plain):
            out += (len(block).to_bytes(4, "little"), block)
        else:
            out += ((len(plain) | _STORED).to_bytes(4, "little"), bytes(plain))
    return b"".join(out)


def _thorough_blocks_of(data: Buffer, level: int) -> bytes:
    """Return the blocks of cramjam's frame, which have checksums; its plain blocks have no level."""
    from cramjam import lz4

    frame = lz4.Compressor(level=level, content_checksum=False, block_linked=False)
    frame.compress(data)
    source = _Source(memoryview(bytes(frame.finish())))
    source.take(len(BEGIN))
    out: list[bytes] = []
    while size := source.number():
        out += (size.to_bytes(4, "little"), bytes(source.take(size & ~_STORED)))
        source.take(4)
    return b"".join(out)


class FrameStream:
    """A writer of one frame from pieces."""

    def __init__(self) -> None:
        self._pending = bytearray()
        self._ready = BEGIN

    def compress(self, data: bytes, /) -> bytes:
        """Compress the next piece; return the output that is ready."""
        self._pending += data
        whole = len(self._pending) // BLOCK_BYTES * BLOCK_BYTES
        ready, self._ready = self._ready + _blocks_of(bytes(self._pending[:whole])), b""
        del self._pending[:whole]
        return ready

    def flush(self) -> bytes:
        """Return the rest of the output. No piece may follow."""
        return self._ready + _blocks_of(bytes(self._pending)) + END


def read_frame(data: Buffer) -> Iterator[bytes]:
    """Yield the content of the first frame in `data`, a block at a time; DecodeError if it is damaged.
    Bytes after it are ignored.
    """
    source = _Source(memoryview(data))
    while (magic := source.number()) & ~15 == _SKIPPED_MAGIC:
        source.take(source.number())
    if magic != _MAGIC:
        raise DecodeError(f"lz4 data is damaged: no frame begins with {magic:08x}")
    yield from _frame(source)


class _Source:
    def __init__(self, view: memoryview) -> None:
        self._view = view
        self._position = 0

    def take(self, size: int) -> memoryview:
        taken = self._view[self._position : self._position + size]
        if len(taken) < size:
            raise DecodeError("lz4 data ends too early")
        self._position += size
        return taken

    def number(self, size: int = 4) -> int:
        return int.from_bytes(self.take(size), "little")


def _frame(source: _Source) -> Iterator[bytes]:
    from xxhash import xxh32_intdigest

    descriptor = bytes(source.take(2))
    flags, block_bytes = descriptor[0], 1 << 2 * (descriptor[1] >> 4) + 8
    if flags & _VERSION != _VERSION_1 or flags & _RESERVED or descriptor[1] & 0x8F or block_bytes < BLOCK_BYTES:
        raise DecodeError("lz4 data is damaged: a frame of an unknown kind")
    descriptor += source.take((8 if flags & _CONTENT_SIZE else 0) + (4 if flags & _DICTIONARY else 0))
    if source.number(1) != xxh32_intdigest(descriptor) >> 8 & 255:
        raise DecodeError("lz4 data is damaged: a frame's header does not match its checksum")
    left = int.from_bytes(descriptor[2:10], "little") if flags & _CONTENT_SIZE else None
    read = _Blocks(block_bytes, is_linked=not flags & _INDEPENDENT)
    while size := source.number():
        block = source.take(size & ~_STORED)
        if flags & _BLOCK_CHECKSUM and source.number() != xxh32_intdigest(block):
            raise DecodeError("lz4 data is damaged: a block does not match its checksum")
        plain = read.plain_of(block, is_stored=bool(size & _STORED))
        if left is not None:
            left -= len(plain)
        yield plain
    if left:
        raise DecodeError("lz4 data is damaged: a frame does not have the size that it claims")
    if flags & _CONTENT_CHECKSUM:
        source.number()


class _Blocks:
    """A decompressor of one frame's blocks, in their order."""

    def __init__(self, block_bytes: int, *, is_linked: bool) -> None:
        self._block_bytes = block_bytes
        self._is_linked = is_linked
        self._history = b""
        self._space = bytearray()

    def plain_of(self, block: memoryview, *, is_stored: bool) -> bytes:
        if len(block) > self._block_bytes:
            raise DecodeError("lz4 data is damaged: a block is larger than its frame allows")
        plain = bytes(block) if is_stored else self._decompressed(block)
        if self._is_linked:
            self._history = (self._history + plain)[-_HISTORY_BYTES:]
        return plain

    def _decompressed(self, block: memoryview) -> bytes:
        from cramjam import DecompressionError, lz4

        before = len(self._history)
        most = before + min(self._block_bytes, 255 * len(block))  # a byte expands to at most 255
        if len(self._space) < most:
            self._space = bytearray(most)
        space = memoryview(self._space)[:most]
        given = _behind(self._history, block) if before else block
        try:
            size = lz4.decompress_block_into(given, space)
        except DecompressionError as error:
            raise DecodeError(f"lz4 data is damaged: {error}") from error
        return bytes(space[before:size])


def _behind(history: bytes, block: memoryview) -> bytes:
    """Return `block` with `history` as the first of its literals.

    A sequence is a token, whose upper half is the count of literals, and its lower half is for the copy after them;
    15 in the upper half means that more of the count follows: bytes to add, up to one that is not 255.
    """
    if not len(block):
        raise DecodeError("lz4 data is damaged: an empty block")
    literals, position = block[0] >> 4, 1
    if literals == 15:
        while position < len(block):
            literals += block[position]
            position += 1
            if block[position - 1] != 255:
                break
    more = literals + len(history) - 15
    if more < 0:
        return bytes((block[0] & 15 | more + 15 << 4,)) + history + block[position:]
    count = b"\xff" * (more // 255) + bytes((more % 255,))
    return bytes((block[0] | 0xF0,)) + count + history + block[position:]
