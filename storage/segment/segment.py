# compiled: mypyc
"""One segment of a partition: a .log file and its indexes.

Knows offsets, positions and timestamps of batches; knows nothing of producers, retention or callers. Look-ups
by time are in times.py.

Theory of operation: the log file is authoritative. An append is one write; if it fails the file is truncated to its
former size, so that a partial batch is never followed by a whole one. A reader's next offset is stored with its
position, so that a consumer that keeps up needs no look-up; others use the offset index and scan a few headers.

Invariants: base_offset <= every offset inside < the next segment's base_offset; `size` is the end of the last batch
accepted; indexes may be rebuilt from the log at any time, the log cannot be rebuilt. One PartitionLog owns a segment.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files.names import FileKind, FileState, segment_file
from barnabas.protocol.files.txn_index import AbortedTxn
from barnabas.protocol.primitives import Buffer
from barnabas.protocol.records.batch import HEADER_SIZE, NO_TIMESTAMP, BatchHeader, parse_header
from barnabas.storage.config import LogConfig
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk_file import DiskFile, FileSlice
from barnabas.storage.disk.sync_job import SyncJob
from barnabas.storage.errors import CorruptFile, StorageError
from barnabas.storage.segment import scan
from barnabas.storage.segment.indexes import UNKNOWN, SegmentIndexes
from barnabas.storage.segment.offset_index import OffsetIndex
from barnabas.storage.segment.sync_state import SyncState, SyncWork
from barnabas.storage.segment.time_search import max_timestamp_of
from barnabas.storage.steps import finish

RELATIVE_OFFSET_MAX: Final = 0x7FFF_FFFF
_CURSORS_MAX: Final = 128  # readers whose next offset is stored, for each segment


class Segment:
    """One segment: create or open it; `activate` the last one of a log before appending to it."""

    def __init__(self, directory: Directory, base_offset: int, config: LogConfig, now_ms: int) -> None:
        self.directory = directory
        self.base_offset = base_offset
        self.created_ms = now_ms
        self.size = 0
        self.is_sealed = True
        self.log = DiskFile(directory, segment_file(base_offset, FileKind.LOG))
        self.indexes = SegmentIndexes(directory, base_offset, config)
        self.offset_index = self.indexes.offset
        self.time_index = self.indexes.time
        self.txn_index = self.indexes.txn
        self._next_offset = UNKNOWN
        self._first_timestamp = UNKNOWN  # of the first batch; segment.ms is counted from it
        self._cursors: dict[int, int] = {}  # positions by the offset that a reader is expected to fetch next
        self._sync_state = SyncState(self.indexes)
        self.set_limits(config)

    # --- creation, closing, removal ---

    @classmethod
    def create(cls, directory: Directory, base_offset: int, config: LogConfig, now_ms: int) -> Segment:
        """Create a new active segment. An existing file was left by a crash and holds nothing acknowledged."""
        segment = cls(directory, base_offset, config, now_ms)
        segment.log = directory.open(segment.log.name, create=True)
        if segment.log.size():
            segment.log.truncate(0)
        segment.reset_indexes()
        return segment

    @classmethod
    def open(
        cls, directory: Directory, base_offset: int, config: LogConfig, now_ms: int, *, is_durable: bool = False
    ) -> Segment:
        """Open an existing segment. Reads only the file's size; everything else is read when needed.

        `is_durable`: files and indexes survive a power cut, after a clean stop or entirely below the recovery point.
        """
        segment = cls(directory, base_offset, config, now_ms)
        segment.size = directory.size(segment.log.name)
        if is_durable:
            segment._sync_state.all_synced(segment.size)
        return segment

    def activate(self) -> None:
        """Prepare for appends: indexes in memory, rebuilt from the log if they are missing or invalid.

        After a StorageError the segment is still sealed, and this may be retried.
        """
        try:
            if not (self.indexes.load(self.size) and self._is_batch(*self.offset_index.last)):
                self._sync_state.indexes_changed()
                self.indexes.reset()
            self._catch_up()
        except StorageError:
            self.indexes.is_full = True
            self._next_offset = UNKNOWN
            raise
        self.is_sealed = False

    def reset_indexes(self) -> None:
        """Empty the three indexes; `index_batch` fills them again, from the first batch on."""
        self.is_sealed = False
        self._sync_state.indexes_changed()
        self.indexes.reset()
        self.txn_index.clear()
        self._cursors.clear()
        self._next_offset = self.base_offset

    def seal(self) -> None:
        """Seal the segment: closing time entry, indexes written and trimmed. Nothing is synced by this."""
        self.indexes.close_time()
        if not self._sync_state.are_indexes_final(self.size):
            self._sync_state.indexes_changed()
            self.indexes.write()
        self.indexes.seal()
        self.is_sealed = True

    def close(self) -> None:
        """Seal an active segment, make it durable, close the descriptor. It stays readable."""
        if not self.is_sealed:
            self.seal()
        self._sync(self.files_to_sync())
        self.log.close()

    def mark_deleted(self) -> list[str]:
        """Rename the files to `*.deleted` and return their names. Slices stay readable; the segment is not found again.

        Repeated after a StorageError, it continues where it stopped.
        """
        if not self.log.name.endswith(FileState.DELETED.value):
            self.log.name = self.directory.mark_deleted(self.log.name)
        return [self.log.name, *self.indexes.mark_deleted()]

    def remove(self) -> None:
        """Remove the files now; reading a slice then raises FileRemoved."""
        self.indexes.remove()
        self.log.remove()  # last: indexes without a log indicate a lost log

    # --- writing ---

    def append(self, batch: Buffer, last_offset: int, max_timestamp: int) -> int:
        """Write one batch at the end; return its position. StorageError leaves the segment unchanged."""
        assert not self.is_sealed, f"{self.log.path} is sealed: appends go into the active segment"
        position = self.size
        try:
            self.log.pwrite(batch, position)
        except StorageError:
            if self.log.is_open:  # else it could not be opened, and nothing was written
                self._cut_back(position)
            raise
        self.index_batch(position, last_offset, max_timestamp)
        self.size = position + len(batch)
        return position

    def index_stored(self, position: int, header: BatchHeader) -> None:
        """Index the stored batch at `position`, after all batches indexed so far."""
        last_offset = header.base_offset + header.last_offset_delta
        self.index_batch(position, last_offset, self._max_timestamp_at(position, header))

    def index_batch(self, position: int, last_offset: int, max_timestamp: int) -> None:
        """Index a stored batch whose largest timestamp is known."""
        self.indexes.add(position, last_offset, max_timestamp)
        if position == 0:
            self._first_timestamp = max_timestamp
        self._next_offset = last_offset + 1

    def set_limits(self, config: LogConfig, jitter_ms: int = 0) -> None:
        """Set the limits of size and age: the segment ends `jitter_ms` before its segment.ms are over."""
        self._bytes_max = config.segment_bytes
        self._active_ms_max = config.roll_ms - jitter_ms

    def should_roll(self, batch_size: int, last_offset: int, max_timestamp: int, now_ms: int) -> bool:
        """Return whether a batch cannot be appended to this segment: it is full, or old enough, or sealed."""
        if self.size > self._bytes_max - batch_size or self.indexes.is_full:
            return True
        if self.size and self.waited_ms(max_timestamp, now_ms) > self._active_ms_max:
            return True
        return last_offset - self.base_offset > RELATIVE_OFFSET_MAX

    def waited_ms(self, max_timestamp: int, now_ms: int) -> int:
        """Return how long the segment has been active, by the timestamps of its batches if they have any."""
        if self._first_timestamp == UNKNOWN:
            first = self._header_at(0)
            self._first_timestamp = first.base_timestamp if first.lacks_max_timestamp else first.max_timestamp
        if self._first_timestamp >= 0:
            return max_timestamp - self._first_timestamp
        return now_ms - self.created_ms

    def expect_aborted(self) -> None:
        """Load the transaction index before an ABORT marker is appended, so that `add_aborted` reads nothing."""
        self.txn_index.held()

    def add_aborted(self, entry: AbortedTxn) -> None:
        """Add a transaction whose ABORT marker is the last appended batch."""
        self.txn_index.append(entry)

    def truncate(self, position: int, next_offset: int) -> None:
        """Truncate the log at `position`, after the batch before `next_offset`, and the indexes. Durable on return.

        Durable, because entries of removed batches would otherwise come back after a power cut and point into batches
        written since. The segment is active afterwards.
        """
        if self.is_sealed:
            self.is_sealed = False
            self.indexes.load(self.size)
        self.log.truncate(position)
        self.size = position
        self._sync_state.cut()
        self._first_timestamp = UNKNOWN
        self.indexes.truncate(next_offset)
        self._catch_up()
        self._next_offset = next_offset
        self.indexes.write()
        self._sync(self.files_to_sync()._replace(paths=self.indexes.paths()))

    # --- durability ---

    def files_to_sync(self) -> SyncWork:
        """Return what is not known to be durable, without indexes of an active segment: the log can rebuild them."""
        return self._sync_state.work(self.log, self.size, is_sealed=self.is_sealed)

    def mark_synced(self, work: SyncWork) -> None:
        """Mark everything in `work` as durable."""
        self._sync_state.synced(work)

    # --- reading ---

    @property
    def next_offset(self) -> int:
        """The offset after the last batch, the base offset if there is none."""
        if self._next_offset == UNKNOWN:
            next_offset = self.base_offset
            for _, header in self.headers(self._loaded_offsets().last[1]):
                next_offset = header.next_offset
            self._next_offset = next_offset
        return self._next_offset

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp inside, -1 if no batch has one."""
        found = self.indexes.max_timestamp
        if found == UNKNOWN:
            self._rebuild_indexes()
            found = self.indexes.max_timestamp
        return found

    @property
    def is_age_known(self) -> bool:
        """Whether `largest_timestamp` covers every batch: see SegmentIndexes."""
        return self.indexes.tells_all_times

    @property
    def largest_timestamp(self) -> int:
        """The age of the segment for retention: its largest timestamp, or the last change of the file."""
        found = self.max_timestamp
        return found if found >= 0 else self.directory.modified_ms(self.log.name)

    def headers(self, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
        """Yield (position, header) of every whole batch from `position` on. DecodeError if bytes are no batch."""
        return scan.headers(self.log, position, self.size)

    def batch_bytes(self, position: int, size: int) -> bytes:
        """Return the bytes of a batch, fewer than `size` if the file ends before."""
        return self.log.pread(size, position)

    def position_of(self, offset: int) -> int:
        """Return the position of the first batch whose last offset is `offset` or more; `size` if there is none."""
        if (cursor := self._cursors.get(offset)) is not None:
            return cursor
        if offset == self._next_offset:  # a reader waiting at the end: the next batch will be here
            return self._remember(offset, self.size)
        try:
            found = scan.first_batch_reaching(self.log, offset, self._indexed_position(offset), self.size)
        except DecodeError as damage:
            raise CorruptFile(self.log.path, str(damage)) from damage
        return self.size if found is None else self._remember(offset, found)

    def read(self, offset: int, max_bytes: int, end_position: int, force_first_batch: bool) -> FileSlice | None:
        """Return batches from the one with `offset` up to `end_position`, at most `max_bytes`; the first whole if
        forced.

        None if there is nothing, or not even the first batch fits; an empty slice instead if `max_bytes` is 0.
        """
        position = self.position_of(offset)
        available = end_position - position
        if available <= 0:
            return None
        if available > max_bytes:
            available = self._fitting(position, max_bytes, force_first_batch) if max_bytes or force_first_batch else 0
            if not available and max_bytes:
                return None
        elif end_position == self.size and self.next_offset not in self._cursors:
            self._remember(self.next_offset, end_position)
        return FileSlice(self.log, position, available)

    def upper_bound_offset(self, end_position: int) -> int | None:
        """Return the last offset of an indexed batch at or after `end_position`: a bound of all offsets before it."""
        return self._loaded_offsets().upper_bound(end_position)

    def aborted(self, start_offset: int, upper_bound: int) -> tuple[list[AbortedTxn], bool]:
        """Return aborted transactions in [start_offset, upper_bound), and whether later segments have none."""
        return self.txn_index.collect(start_offset, upper_bound)

    # --- helpers ---

    def _cut_back(self, size: int) -> None:
        """Undo a failed write. If the file cannot be truncated it may end in a partial batch: no more writes then."""
        try:
            if self.log.size() > size:
                self.log.truncate(size)
                self._sync_state.cut()
        except StorageError as failure:
            self.directory.disk.go_offline(f"cannot undo a failed append: {failure}")

    def _catch_up(self) -> None:
        """Index the batches after the last indexed one: all of them if there are no entries."""
        self._cursors.clear()
        self._next_offset = self.base_offset
        for position, last_offset, max_timestamp in self._batches(self.indexes.indexed_position):
            self.index_batch(position, last_offset, max_timestamp)

    def _batches(self, position: int) -> Iterator[tuple[int, int, int]]:
        """Yield position, last offset and largest timestamp of each batch from `position` on. CorruptFile."""
        end = 0
        try:
            for at, header in self.headers(position):
                if not 0 <= header.last_offset - self.base_offset <= RELATIVE_OFFSET_MAX:
                    raise DecodeError(f"batch at {at} has the offset {header.base_offset}")
                yield at, header.last_offset, self._max_timestamp_at(at, header)
                end = at + header.size_in_bytes
        except DecodeError as damage:
            raise CorruptFile(self.log.path, str(damage)) from damage
        if end != self.size:
            raise CorruptFile(self.log.path, f"{self.size - end} bytes behind the last whole batch")

    def _max_timestamp_at(self, position: int, header: BatchHeader) -> int:
        max_timestamp = header.max_timestamp
        if NO_TIMESTAMP < max_timestamp >= header.base_timestamp or not header.lacks_max_timestamp:
            return max_timestamp  # in nearly all batches without a call
        return finish(max_timestamp_of(self.batch_bytes(position, header.size_in_bytes), header))

    def _rebuild_indexes(self) -> None:
        """Rebuild the offset and time index from the log; if it cannot be read they stay unchanged."""
        fresh = self.indexes.emptied()
        for position, last_offset, max_timestamp in self._batches(0):
            fresh.add(position, last_offset, max_timestamp)
        self._sync_state.indexes_changed()
        self.indexes.take(fresh)
        if self.is_sealed:
            self.seal()

    def _loaded_offsets(self) -> OffsetIndex:
        index = self.offset_index
        if index.is_loaded:
            index.recently_used = True
        elif not index.load(self.size):
            self._rebuild_indexes()
        return index

    def _indexed_position(self, offset: int) -> int:
        """Return where to start scanning for `offset`. An entry that does not match its batch is not used."""
        index = self._loaded_offsets()
        entry = index.lookup(offset)
        if not self._is_batch(*entry):
            self._rebuild_indexes()
            entry = index.lookup(offset)
        return entry[1]

    def _sync(self, work: SyncWork) -> None:
        SyncJob(self.directory.disk, work.files, work.paths).run_here()
        self.mark_synced(work)

    def _is_batch(self, last_offset: int, position: int) -> bool:
        """Return whether an index entry matches the batch it points to; position 0 needs no entry."""
        try:
            return position == 0 or self._header_at(position).last_offset == last_offset
        except DecodeError:
            return False

    def _header_at(self, position: int) -> BatchHeader:
        return parse_header(self.log.pread(HEADER_SIZE, position))

    def _fitting(self, position: int, max_bytes: int, force_first_batch: bool) -> int:
        """Return the bytes to read if more than `max_bytes` exist. The first batch fits if another begins after it."""
        indexed = self._loaded_offsets().last_position_until(position + max_bytes)
        if indexed > position:
            self._remember(*scan.batch_around(self.log, indexed, position + max_bytes))
            return max_bytes
        first_size = self._header_at(position).size_in_bytes
        return max_bytes if first_size <= max_bytes else first_size if force_first_batch else 0

    def _remember(self, offset: int, position: int) -> int:
        """Store the position of `offset`, which a reader is expected to fetch next. Return the position."""
        if len(self._cursors) >= _CURSORS_MAX:
            self._cursors.clear()
        self._cursors[offset] = position
        return position
