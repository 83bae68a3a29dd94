# compiled: mypyc
"""The three indexes of a segment, updated together: offset index, time index, aborted transactions.

Knows batches by position, last offset and largest timestamp; never reads the log. Kafka's rule for an entry: a batch
that starts more than index.interval.bytes after the last indexed one (so never the first of a segment) gets one,
and with it the largest timestamp so far; sealing adds that timestamp as the closing entry.

Theory of operation: while the segment is active the entries are only in memory. They are written when it is sealed or
closed; after a crash they are rebuilt from the log. A sealed segment's are read from the files when needed.

`tells_all_times`: the time index covers every batch. One that an earlier version made, or Kafka from such a log, may
omit batches whose headers lack their largest timestamp; storage/segment/times.py rebuilds it.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from barnabas.protocol.files.names import FileKind, FileState, segment_file
from barnabas.storage.config import LogConfig
from barnabas.storage.disk.directory import Directory
from barnabas.storage.segment.offset_index import OffsetIndex
from barnabas.storage.segment.time_index import TimeIndex
from barnabas.storage.segment.txn_index import TransactionIndex

UNKNOWN: Final = -2  # not read yet; -1 is Kafka's "none"


class SegmentIndexes:
    """The indexes for batches up to the last one added. `load` or `reset` before `add`."""

    def __init__(
        self, directory: Directory, base_offset: int, config: LogConfig, state: FileState = FileState.LIVE
    ) -> None:
        name = partial(segment_file, base_offset, state=state)
        size_max = config.segment_index_bytes
        self.directory = directory
        self.base_offset = base_offset
        self._config = config
        self.offset = OffsetIndex(directory, name(FileKind.OFFSET_INDEX), base_offset, size_max)
        self.time = TimeIndex(directory, name(FileKind.TIME_INDEX), base_offset, size_max)
        self.txn = TransactionIndex(directory, name(FileKind.TXN_INDEX), base_offset)
        self.is_full = False
        self.tells_all_times = True
        self._is_given_up = False
        self.indexed_position = 0  # of the last batch that has an entry
        self.interval_bytes = config.index_interval_bytes
        self._max_timestamp = UNKNOWN
        self._max_timestamp_offset = base_offset

    def add(self, position: int, last_offset: int, max_timestamp: int) -> None:
        """Add a batch after all batches added so far."""
        if max_timestamp > self._max_timestamp:
            self._max_timestamp = max_timestamp
            self._max_timestamp_offset = last_offset
        if position - self.indexed_position > self.interval_bytes:
            self.indexed_position = position
            self.offset.append(last_offset, position)
            self.time.maybe_append(self._max_timestamp, self._max_timestamp_offset)
            self.is_full = self.offset.is_full or self.time.is_full

    def load(self, log_size: int) -> bool:
        """Load the entries, never evicted. Return False, without entries, if the files are missing or invalid."""
        self.offset.activate()
        self.time.activate()
        is_sound = self.offset.load(log_size) and self.time.load(log_size)
        if not is_sound:
            self.offset.create()
            self.time.create()
        self._look_at_last()
        return is_sound

    def reset(self) -> None:
        """Begin without entries; aborted transactions stay."""
        self.offset.activate()
        self.time.activate()
        self.offset.create()
        self.time.create()
        self.tells_all_times = True
        self._look_at_last()

    def emptied(self) -> SegmentIndexes:
        """Return empty indexes of the same segment, only in memory: to be filled, and passed to `take_times`."""
        fresh = SegmentIndexes(self.directory, self.base_offset, self._config)
        fresh.reset()
        return fresh

    def take_times(self, fresh: SegmentIndexes) -> None:
        """Take the time index over from indexes made of the same batches; a sealed segment's is written.

        It is not written after `give_up`: then it only serves the current readers.
        """
        self.time.take(fresh.time)
        self._max_timestamp, self._max_timestamp_offset = fresh._max_timestamp, fresh._max_timestamp_offset
        self.tells_all_times = True
        if self.time.is_active:
            self.is_full = self.offset.is_full or self.time.is_full
        elif self._is_given_up:
            self.directory.disk.indexes.discard(self.time)  # released with its last reader
        else:
            self.close_time()
            self.time.write()
            self.time.seal()

    def take(self, fresh: SegmentIndexes) -> None:
        """Take both indexes over from indexes made of all batches; they stay in memory until they are sealed."""
        self.offset.activate()
        self.time.activate()
        self.offset.take(fresh.offset)
        self.time.take(fresh.time)
        self.indexed_position = fresh.indexed_position
        self._max_timestamp, self._max_timestamp_offset = fresh._max_timestamp, fresh._max_timestamp_offset
        self.tells_all_times = True
        self.is_full = self.offset.is_full or self.time.is_full

    def give_up(self) -> None:
        """Stop writing files: the log is closed, possibly another one is open, or the segment is deleted.

        An index that a reader rebuilds stays in memory, as long as it is read.
        """
        self._is_given_up = True

    def truncate(self, offset: int) -> None:
        """Drop the entries of batches that end at or after `offset`."""
        self.offset.truncate(offset)
        self.time.truncate(offset)
        self.txn.truncate(offset)
        self._look_at_last()

    def write(self) -> None:
        """Write the entries in memory to the files, unless they were given up. Not synced."""
        if self._is_given_up:
            return
        self.offset.write()
        self.time.write()
        self.txn.write()

    def close_time(self) -> None:
        """Add the closing entry."""
        self.time.maybe_append(self.max_timestamp, self._max_timestamp_offset)

    @property
    def is_written(self) -> bool:
        """Whether the files have every entry of the offset and time index."""
        return self.offset.is_written and self.time.is_written

    def seal(self) -> None:
        """Allow the eviction of the entries, which are written and complete. After `give_up` they stay."""
        self.is_full = True  # so that an append need not check whether the segment is sealed
        if not self._is_given_up:
            self.offset.seal()
            self.time.seal()

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp, -1 if no batch has one; UNKNOWN if the files do not have it."""
        if self._max_timestamp == UNKNOWN and (found := self.time.read_last()) is not None:
            self._max_timestamp, self._max_timestamp_offset = found
        return self._max_timestamp

    def paths(self) -> list[str]:
        """Return the paths of the files, whether or not they exist."""
        return [self.directory.path_of(index.name) for index in (self.offset, self.time, self.txn)]

    def mark_deleted(self) -> list[str]:
        """Rename the existing files to `*.deleted`, if they are not yet; return their new names."""
        self.give_up()
        renamed: list[str] = []
        for index in (self.offset, self.time, self.txn):
            if not index.name.endswith(FileState.DELETED.value):
                if not self.directory.exists(index.name):
                    continue
                index.name = self.directory.mark_deleted(index.name)
            renamed.append(index.name)
        return renamed

    def remove(self) -> None:
        """Remove the files."""
        for index in (self.offset, self.time, self.txn):
            self.directory.remove(index.name)

    def _look_at_last(self) -> None:
        self.indexed_position = self.offset.last[1]
        self.is_full = self.offset.is_full or self.time.is_full
        self._max_timestamp, self._max_timestamp_offset = self.time.last
