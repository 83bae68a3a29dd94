"""A segment file read from outside: its batches in order, up to the first byte that cannot be one.

Works on a closed directory or on one a broker is using (it reads, and locks nothing), on Barnabas' files and on
Apache Kafka's. It judges nothing: whoever scans looks at `problem` and `valid_bytes` afterwards.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files import offset_index, time_index
from barnabas.protocol.files.preallocation import trimmed_size
from barnabas.protocol.primitives import Buffer
from barnabas.protocol.records.batch import BatchHeader, next_batch_size, parse_header


class SegmentScan:
    """One `.log` or `.checkpoint` file, mapped for reading; a context manager.

    After `batches()` has run to its end: `valid_bytes` is where it stopped, `problem` says why if that is not the
    end of the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.valid_bytes = 0
        self.problem: str | None = None
        self._map: mmap.mmap | None = None
        self._view = memoryview(b"")

    def __enter__(self) -> SegmentScan:
        with self.path.open("rb") as file:
            if self.path.stat().st_size:  # an empty file cannot be mapped
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                self._view = memoryview(self._map)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._view.release()
        if self._map is not None:
            try:
                self._map.close()
            except BufferError:
                self._map = None  # a batch is still looked at (an exception holds its frame); the collector unmaps it

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return len(self._view)

    def batches(self) -> Iterator[tuple[int, BatchHeader, Buffer]]:
        """(position, header, bytes of the whole batch) in file order; ends quietly at damage or at a cut tail."""
        position = 0
        while position < self.size:
            try:
                size = next_batch_size(self._view, position, self.size)
                if size is None:
                    self.problem = (
                        f"the last {self.size - position} bytes are the beginning of a batch that was never finished"
                    )
                    break
                header = parse_header(self._view, position)
            except DecodeError as error:
                self.problem = str(error)
                break
            yield position, header, self._view[position : position + size]
            position += size
        self.valid_bytes = position


def offset_entries(path: Path) -> list[offset_index.OffsetIndexEntry]:
    """An `.index` file's entries, without the zeros that a killed Apache Kafka leaves behind them."""
    data = path.read_bytes()
    return offset_index.decode(data[: trimmed_size(data, offset_index.ENTRY_SIZE)])


def time_entries(path: Path) -> list[time_index.TimeIndexEntry]:
    """A `.timeindex` file's entries, likewise."""
    data = path.read_bytes()
    return time_index.decode(data[: trimmed_size(data, time_index.ENTRY_SIZE)])
