# compiled: mypyc, as compaction runs it for each record
"""The findings of the first pass about each record of the dirty part: the second pass need not look up their keys.

A byte for each offset, from the first dirty one on, up to a limit of memory. Only a batch without gaps has states: the
place of a record is then its offset. UNKNOWN says nothing, and the key is looked up in the offset map: for records
without a key, of batches with gaps, of aborted transactions, and beyond the limit. States are exact once the first pass
has ended, for batches that end at or below `latest_offset`.
"""

from __future__ import annotations

from typing import Final

from barnabas.protocol.records.batch import BatchHeader
from barnabas.protocol.records.record_rows import UNWANTED

UNKNOWN: Final = 0
SUPERSEDED: Final = UNWANTED  # a later record has its key
LATEST: Final = 2
TOMBSTONE: Final = 3  # the latest one of its key, without a value

_ALL_LATEST: Final = bytes([LATEST])


class DirtyRecords:
    """The states of the records from `first_dirty` on, `size` of them at most.

    `latest_offset` is the last offset whose key is in the offset map, if there is one.
    """

    def __init__(self, first_dirty: int, size: int, states: bytearray | memoryview | None = None) -> None:
        self.first_dirty = first_dirty
        self.latest_offset = first_dirty - 1
        self.size = size
        self._states = bytearray(size) if states is None else states

    def begin_batch(self, header: BatchHeader) -> bool:
        """Take all records of a batch for the latest of their keys; return whether it has states at all."""
        if not self.is_covered(header):
            return False
        start = header.base_offset - self.first_dirty
        self._states[start : start + header.records_count] = _ALL_LATEST * header.records_count
        return True

    def note(self, offset: int, state: int) -> None:
        """Set the state of one record; of none beyond the limit."""
        at = offset - self.first_dirty
        if at < self.size:
            assert at >= 0, "only records of the dirty part are put into the map"
            self._states[at] = state

    def states(self, header: BatchHeader) -> bytes:
        """Return the states of a batch's records; none if they are not known."""
        if header.last_offset > self.latest_offset or not self.is_covered(header):
            return b""
        start = header.base_offset - self.first_dirty
        return bytes(self._states[start : start + header.records_count])

    def is_covered(self, header: BatchHeader) -> bool:
        """Return whether the records of a batch have states once they were put into the map."""
        start, end = header.base_offset - self.first_dirty, header.next_offset - self.first_dirty
        return start >= 0 and end <= self.size and header.records_count == end - start
