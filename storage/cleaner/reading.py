# compiled: mypyc, as compaction runs it for each record
"""A reader of one segment's batches in order: each has the right CRC, and offsets after those of the previous batch.

No CRC covers the base offset, and a wrong bit there could make another record the last one of its key. The log file is
read in pieces of many batches, and from a large batch on batch by batch: a piece that ends in the middle of a batch is
read again from there. Anything that cannot be a complete and valid batch raises a CorruptFile
that names the file and the position: a damaged segment is not compacted.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files.names import FileKind, segment_file
from barnabas.protocol.records.batch import HEADER_SIZE, BatchHeader, parse_header, verify_crc
from barnabas.storage.disk.directory import Directory
from barnabas.storage.errors import CorruptFile

_LARGE_PART: Final = 8  # a batch of more than this part of the buffer is large


class SegmentSpan(NamedTuple):
    """A segment: its offsets are in [base_offset, end_offset), its log file has `size` bytes."""

    base_offset: int
    end_offset: int
    size: int


class SegmentBatchReader:
    """A reader of a segment's batches. After `next`, `batch` has the bytes, which lie at `batch_position`."""

    def __init__(self, directory: Directory, span: SegmentSpan, buffer_bytes: int) -> None:
        self.batch = b""
        self.batch_position = 0
        self.bytes_read = 0
        self._file = directory.open(segment_file(span.base_offset, FileKind.LOG))
        self._position = 0
        self._end = span.size
        self._offset_min = span.base_offset
        self._end_offset = span.end_offset
        self._buffer_bytes = buffer_bytes
        self._buffer = b""
        self._buffer_start = 0
        self._follows_large = False

    def next(self) -> BatchHeader | None:
        """Return the header of the next batch, None after the last one."""
        position = self._position
        left = self._end - position
        if left == 0:
            return None
        if left < HEADER_SIZE:
            raise self.damage(position, f"{left} bytes behind the last whole batch")
        at = self._fill(position, HEADER_SIZE, HEADER_SIZE if self._follows_large else self._buffer_bytes)
        try:
            header = parse_header(self._buffer, at)
        except DecodeError as damage:
            raise self.damage(position, str(damage)) from damage
        size = header.size_in_bytes
        if size > left:
            raise self.damage(position, f"a batch of {size} bytes, and {left} are left")
        self._follows_large = size > self._buffer_bytes // _LARGE_PART
        at = self._fill(position, size, size if self._follows_large else self._buffer_bytes)
        self.batch = self._buffer[at : at + size]
        self.batch_position = position
        if not verify_crc(self.batch):
            raise self.damage(position, f"the CRC of the batch at offset {header.base_offset} is wrong")
        base_offset, next_offset = header.base_offset, header.next_offset
        if not self._offset_min <= base_offset < next_offset <= self._end_offset:
            wanted = f"those from {self._offset_min} to {self._end_offset - 1} can come here"
            raise self.damage(position, f"a batch with offsets {base_offset} to {next_offset - 1}, and {wanted}")
        self._offset_min = next_offset
        self._position = position + size
        return header

    def damage(self, position: int, what: str) -> CorruptFile:
        """Return the error to raise for damage in the batch at `position`."""
        return CorruptFile(self._file.path, f"at {position}: {what}; nothing was compacted")

    def close(self) -> None:
        """Close the file descriptor."""
        self._file.close()

    def _fill(self, position: int, size: int, more: int) -> int:
        """Load `size` bytes from `position` into the buffer, or `more`; return where they begin in it."""
        at = position - self._buffer_start
        if len(self._buffer) - at >= size:
            return at
        wanted = min(max(size, more), self._end - position)
        self._buffer = self._file.pread(wanted, position)
        self._buffer_start = position
        self.bytes_read += len(self._buffer)
        if len(self._buffer) < size:
            raise self.damage(position, "the file ends before the segment does")
        return 0
