"""Checks a segment: its log from end to end, and the files beside it against the log.

One pass. Memory follows the producers with open transactions and the size of the indexes, not the length of the log.
Each segment is checked alone, so that several can be checked at a time. A finding about a segment and the next one is
reported with the first of them; a finding about the partition, with its first segment.

A log without findings has whole batches from its first byte to its last, in order and as in their headers, and indexes
that are right. Whether something is missing at the end of the log cannot be seen from its files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

from barnabas.logfiles.batch_check import check_batch
from barnabas.logfiles.data_directory import PartitionFiles
from barnabas.logfiles.entries import aborted_txns, offset_entries, time_entries
from barnabas.logfiles.findings import Finding, FindingKind, describe
from barnabas.logfiles.index_checks import IndexCheck, OffsetIndexCheck, TimeIndexCheck, TransactionIndexCheck
from barnabas.logfiles.reading import DISK, Reading
from barnabas.logfiles.walk import Bounds, Damage, LogStretch, walk_batches, whole_batch
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files import producer_snapshot
from barnabas.protocol.files.checkpoints import (
    EpochEntry,
    decode_leader_epochs,
    decode_offsets,
    decode_partition_metadata,
    epoch_at,
)
from barnabas.protocol.files.names import (
    LEADER_EPOCH_CHECKPOINT,
    PARTITION_METADATA,
    SEGMENT_CHECKSUMS,
    FileKind,
    segment_file,
)
from barnabas.protocol.records.batch import BatchHeader
from barnabas.protocol.records.crc32c import crc32c

Decoded = TypeVar("Decoded")

_LEFT_BY_A_KILL = (Damage.TORN, Damage.ZEROS)


class CheckTally:
    """How much was read. `batches` counts those with a readable header, damaged or not."""

    def __init__(self) -> None:
        self.partitions = self.segments = self.batches = self.records = self.size_bytes = 0


def check_segment(
    files: PartitionFiles,
    number: int,
    *,
    with_records: bool = True,
    reading: Reading = DISK,
    tally: CheckTally | None = None,
) -> Iterator[Finding]:
    """Return the findings of a segment, by its number in `files.segments`, in the order of its log, then those beside
    it.

    In a partition without segments number 0 has those beside it alone.

    with_records: whether to read the records in the batches, which costs many times as much as the rest.
    """
    if not files.segments:
        return check_beside(files, number, reading=reading)
    return _SegmentCheck(files, number, reading, tally or CheckTally(), with_records=with_records).findings()


def check_beside(files: PartitionFiles, number: int, *, reading: Reading = DISK) -> Iterator[Finding]:
    """Check the files that need no log: the snapshots from the segment's base offset to that of the next, and with the
    first segment, or if there is none, the partition's leader epochs.
    """
    if number == 0:
        yield from _read(FindingKind.LEADER_EPOCHS, files.leader_epochs_path, None, decode_leader_epochs, reading)[1]
        path = files.beside(PARTITION_METADATA)
        yield from _read(FindingKind.PARTITION_METADATA, path, None, decode_partition_metadata, reading)[1]
    if not files.segments and files.recovery_point:
        detail = f"there is no segment, and up to offset {files.recovery_point} the log was synced"
        yield Finding(FindingKind.END, files.directory, None, 0, detail)
    start = files.segments[number].base_offset if number else 0
    limit = files.limit(number)
    for offset in files.snapshots:
        if start <= offset and (limit is None or offset < limit):
            path = files.beside(segment_file(offset, FileKind.PRODUCER_SNAPSHOT))
            decode = partial(producer_snapshot.decode, end_offset=offset)
            may_be_torn = offset >= files.recovery_point and not files.was_clean  # then the next start removes it
            for found in _read(FindingKind.PRODUCER_SNAPSHOT, path, offset, decode, reading)[1]:
                yield found._replace(is_note=may_be_torn)


class _SegmentCheck:
    """One pass over a segment."""

    def __init__(
        self, files: PartitionFiles, number: int, reading: Reading, tally: CheckTally, *, with_records: bool
    ) -> None:
        self._files = files
        self._number = number
        self._reading = reading
        self._tally = tally
        self._with_records = with_records
        self._path = files.log_path(number)
        self._base_offset, self._size = files.segments[number]
        self._limit = files.limit(number)
        self._next_offset = self._base_offset
        self._leader_epoch = -1
        self._is_whole = True
        self._indexes: list[IndexCheck] = []
        self._epochs: list[EpochEntry] = (
            _read(FindingKind.LEADER_EPOCHS, files.leader_epochs_path, None, decode_leader_epochs, reading)[0] or []
        )
        self._is_epoch_reported = False

    def findings(self) -> Iterator[Finding]:
        # Shorter than when it was listed: a start cut its tail meanwhile, or the topic is another one of this name.
        self._size = min(self._size, self._reading.size(self._path))
        with self._reading.log(self._path, self._size) as log:
            yield from self._open_indexes()
            for found in walk_batches(log, 0, self._size, Bounds(self._base_offset, self._limit)):
                if found.damage is None and found.header is not None and found.batch is not None:
                    yield from self._batch(found.position, found.header, found.batch)
                else:
                    yield from self._damage(found)
        if (
            self._reading.size(self._path) <= self._size
        ):  # else an index may have entries for what was appended meanwhile
            yield from self._ask_indexes(lambda check: check.end())
        yield from self._boundary()
        yield from check_beside(self._files, self._number, reading=self._reading)
        self._tally.segments += 1
        self._tally.size_bytes += self._size

    def _open_indexes(self) -> Iterator[Finding]:
        """Set up a check for each index that exists and can be read."""

        def read(kind: FindingKind, file: FileKind, decode: Callable[[bytes], list[Decoded]]) -> list[Decoded] | None:
            entries, found = _read(kind, self._files.path(self._number, file), None, decode, self._reading)
            unreadable.extend(found)
            return entries

        unreadable: list[Finding] = []
        base_offset = self._base_offset
        if (offsets := read(FindingKind.OFFSET_INDEX, FileKind.OFFSET_INDEX, offset_entries)) is not None:
            path = self._files.path(self._number, FileKind.OFFSET_INDEX)
            self._indexes.append(OffsetIndexCheck(path, base_offset, offsets))
        if (times := read(FindingKind.TIME_INDEX, FileKind.TIME_INDEX, time_entries)) is not None:
            path = self._files.path(self._number, FileKind.TIME_INDEX)
            self._indexes.append(TimeIndexCheck(path, base_offset, times))
        aborted = read(FindingKind.TRANSACTION_INDEX, FileKind.TXN_INDEX, aborted_txns)
        if not unreadable and (self._limit is not None or self._files.was_clean):  # an active one's is written later
            yield from self._checksum()
        if aborted is not None or not unreadable or unreadable[-1].kind is not FindingKind.TRANSACTION_INDEX:
            # No file means that no transaction was aborted.
            path = self._files.path(self._number, FileKind.TXN_INDEX)
            self._indexes.append(TransactionIndexCheck(path, aborted or [], is_complete=self._limit is not None))
        yield from unreadable

    def _checksum(self) -> Iterator[Finding]:
        """Check the transaction index, where the file with the checksums has one for a log of this size."""
        path = self._files.path(self._number, FileKind.TXN_INDEX)
        stored = (self._sums() or {}).get((str(self._base_offset), self._size))
        if stored is not None and crc32c(self._reading.content(path) or b"") != stored:
            yield Finding(
                FindingKind.TRANSACTION_INDEX,
                path,
                None,
                self._base_offset,
                "its content was changed after it was written",
            )

    def _sums(self) -> dict[tuple[str, int], int] | None:
        """Return checksums by base offset and size of the segments that were sealed; None if there is no such file."""
        path = self._files.beside(SEGMENT_CHECKSUMS)
        return _read(FindingKind.TRANSACTION_INDEX, path, None, decode_offsets, self._reading)[0]

    def _batch(self, position: int, header: BatchHeader, batch: memoryview) -> Iterator[Finding]:
        checked = check_batch(header, batch, with_records=self._with_records)
        self._tally.batches += 1
        self._tally.records += checked.records
        yield from self._epoch(position, header)
        synced = self._files.recovery_point
        if self._limit is None and self._next_offset < synced < header.next_offset and self._files.cleaned_to is None:
            detail = f"the synced part ended with a batch at {synced - 1}, and this one ends at {header.last_offset}"
            yield Finding(FindingKind.OFFSET, self._path, position, header.base_offset, detail)
        for defect in checked.defects:
            detail = f"batch at offset {header.base_offset}: {defect.detail}"
            yield Finding(defect.kind, self._path, position, header.base_offset, detail)
        if any(defect.kind is FindingKind.HEADER for defect in checked.defects):
            yield from self._ask_indexes(lambda check: check.damage(position, header.size_in_bytes))
        else:
            yield from self._ask_indexes(lambda check: check.batch(position, header, checked))
        self._next_offset = max(self._next_offset, header.next_offset)
        self._leader_epoch = header.partition_leader_epoch

    def _damage(self, found: LogStretch) -> Iterator[Finding]:
        damage = found.damage or Damage.NO_BATCH
        is_unsynced = self._next_offset >= self._files.recovery_point
        is_note = self._limit is None and damage in _LEFT_BY_A_KILL and is_unsynced
        yield Finding(FindingKind(damage), self._path, found.position, self._next_offset, describe(found), is_note)
        self._tally.batches += damage in (Damage.CRC, Damage.OFFSET)
        self._is_whole = False
        yield from self._ask_indexes(lambda check: check.damage(found.position, found.size))

    def _ask_indexes(self, ask: Callable[[IndexCheck], Finding | None]) -> Iterator[Finding]:
        for check in self._indexes:
            finding = ask(check)
            if finding is not None:
                yield finding

    def _boundary(self) -> Iterator[Finding]:
        """Check whether the next segment begins where this one ends, with a leader epoch that can follow."""
        starts = max(self._epochs[0].start_offset, self._files.log_start_offset) if self._epochs else self._base_offset
        if self._number == 0 and starts < self._base_offset and not self._files.is_deleted(starts):
            detail = (
                f"the log begins at offset {self._base_offset}, and {LEADER_EPOCH_CHECKPOINT} at {starts}: "
                "the segments before this one are missing"
            )
            yield Finding(FindingKind.HOLE, self._path, 0, self._base_offset, detail)
        limit = self._limit
        if limit is None:
            if self._is_whole and self._next_offset < self._files.recovery_point:
                detail = f"the log ends here, and up to offset {self._files.recovery_point} it was synced"
                yield Finding(FindingKind.END, self._path, self._size, self._next_offset, detail)
            return
        end = f"the segment ends with offset {self._next_offset - 1}, and the next begins at {limit}"
        if self._next_offset > limit:
            yield Finding(FindingKind.OVERLAP, self._path, self._size, self._next_offset, end)
        elif self._next_offset < limit and self._is_whole:
            yield from self._hole(limit, end)
        after = self._files.segments[self._number + 1]
        path = self._files.log_path(self._number + 1)
        with self._reading.log(path, after.size) as log:
            header = whole_batch(log, 0)
        if (
            header is not None
            and header.partition_leader_epoch < self._leader_epoch
            and epoch_at(self._epochs, header.base_offset) is None
        ):
            yield self._falling_epoch(path, 0, header)

    def _hole(self, limit: int, detail: str) -> Iterator[Finding]:
        """Report missing offsets between this segment and the next. They are right after compaction, also above the
        offset in its checkpoint: that is updated when the last segment of a round is in its place.

        Where the sizes that segments had are known, compaction is distinguished from a loss: a segment that compaction
        merges into changes its size, and after a clean stop only present segments have a row.
        """
        cleaned_to, is_note = self._files.cleaned_to, False
        if cleaned_to is not None:
            sums = self._sums()
            was_there = any(self._next_offset <= int(base) < limit for base, _ in sums or ())
            is_as_it_was = (str(self._base_offset), self._size) in (sums or ())
            if limit <= cleaned_to or (sums is not None and not (was_there and is_as_it_was)):
                return
            is_note = sums is None or not self._files.was_clean
        yield Finding(FindingKind.HOLE, self._path, self._size, self._next_offset, detail, is_note)

    def _epoch(self, position: int, header: BatchHeader) -> Iterator[Finding]:
        """Check a batch's leader epoch against the checkpoint, which after a kill may lag behind the log."""
        expected, epoch = epoch_at(self._epochs, header.base_offset), header.partition_leader_epoch
        if expected is None:
            if epoch < self._leader_epoch:
                yield self._falling_epoch(self._path, position, header)
        elif epoch != expected and not (self._is_epoch_reported or self._may_lag(expected, header)):
            self._is_epoch_reported = True
            detail = f"leader epoch {epoch}, and {LEADER_EPOCH_CHECKPOINT} has {expected} for it"
            yield Finding(FindingKind.LEADER_EPOCH, self._path, position, header.base_offset, detail)

    def _may_lag(self, expected: int, header: BatchHeader) -> bool:
        """Return whether the batch may be the first of an epoch that is not in the file: it is not synced then."""
        is_last = expected == self._epochs[-1].epoch < header.partition_leader_epoch
        return is_last and header.base_offset >= self._files.recovery_point

    def _falling_epoch(self, path: str, position: int, header: BatchHeader) -> Finding:
        detail = f"leader epoch {header.partition_leader_epoch} after {self._leader_epoch}"
        return Finding(FindingKind.LEADER_EPOCH, path, position, header.base_offset, detail)


def _read(
    kind: FindingKind, path: str, offset: int | None, decode: Callable[[bytes], Decoded], reading: Reading
) -> tuple[Decoded | None, list[Finding]]:
    """Return a file's content, None if it does not exist or cannot be read; and a finding in the latter case."""
    data = reading.content(path)
    if data is None:
        return None, []
    try:
        return decode(data), []
    except DecodeError as error:
        return None, [Finding(kind, path, None, offset, str(error))]
