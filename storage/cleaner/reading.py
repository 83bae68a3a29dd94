"""The batches of one segment, one after the other, each with its CRC found right.

Reads the log file in pieces, a batch that is larger than one as a whole. Whatever cannot be a whole and sound batch is
a CorruptFile that names the file and the position: what is damaged is not compacted.
"""

from __future__ import annotations

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.records.batch import HEADER_SIZE, BatchHeader, parse_header, verify_crc
from barnabas.storage.disk.directory import Directory
from barnabas.storage.errors import CorruptFile


class BatchReader:
    """Batches from `position` on, up to `end`. After `next` `batch` has the bytes, and lies at `batch_position`."""

    def __init__(self, directory: Directory, name: str, position: int, end: int, buffer_bytes: int) -> None:
        self.batch = b""
        self.batch_position = position
        self.bytes_read = 0
        self._file = directory.open(name)
        self._position = position
        self._end = end
        self._buffer_bytes = buffer_bytes
        self._buffer = b""
        self._buffer_start = position

    def next(self) -> BatchHeader | None:
        """The header of the next batch, None behind the last one."""
        position = self._position
        left = self._end - position
        if left == 0:
            return None
        if left < HEADER_SIZE:
            raise self.damage(position, f"{left} bytes behind the last whole batch")
        at = self._fill(position, HEADER_SIZE)
        try:
            header = parse_header(self._buffer, at)
        except DecodeError as damage:
            raise self.damage(position, str(damage)) from damage
        size = header.size_in_bytes
        if size > left:
            raise self.damage(position, f"a batch of {size} bytes, and {left} are left")
        at = self._fill(position, size)
        self.batch = self._buffer[at : at + size]
        self.batch_position = position
        if not verify_crc(self.batch):
            raise self.damage(position, f"the CRC of the batch at offset {header.base_offset} is wrong")
        self._position = position + size
        return header

    def damage(self, position: int, what: str) -> CorruptFile:
        """What to raise for damage in the batch at `position`."""
        return CorruptFile(self._file.path, f"at {position}: {what}; nothing was compacted")

    def close(self) -> None:
        """Give the descriptor back."""
        self._file.close()

    def _fill(self, position: int, size: int) -> int:
        """Have `size` bytes from `position` in the buffer; returns where they begin in it."""
        at = position - self._buffer_start
        if len(self._buffer) - at >= size:
            return at
        wanted = min(max(size, self._buffer_bytes), self._end - position)
        self._buffer = self._file.pread(wanted, position)
        self._buffer_start = position
        self.bytes_read += len(self._buffer)
        if len(self._buffer) < size:
            raise self.damage(position, "the file ends before the segment does")
        return 0
