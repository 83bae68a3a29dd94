"""The outcomes of the transactions in a partition: committed, aborted, or open, from the markers in its log.

The first marker of its producer behind a record decides about it. If none is left in the log (its batch is damaged,
or compaction removed it), an abort in the `.txnindex` files that covers the record decides; otherwise it is open.

Memory depends on the producers and transactions of the stretch in question, never on the length of the log: the log
behind it is read header by header, only until nothing is pending.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from barnabas.logfiles.data_directory import PartitionFiles
from barnabas.logfiles.entries import aborted_txns
from barnabas.logfiles.log_file import LogFile
from barnabas.logfiles.reading import DISK
from barnabas.logfiles.walk import Bounds, batch_at, walk_headers
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files.names import FileKind
from barnabas.protocol.files.txn_index import AbortedTxn
from barnabas.protocol.older_python import StrEnum
from barnabas.protocol.records.batch import BatchHeader
from barnabas.protocol.records.control import EndTxnMarker, read_marker


class RecordOutcome(StrEnum):
    """The outcome of a record's transaction."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"


class BatchPlace(NamedTuple):
    """A batch in a partition: in which segment, where, and its header."""

    segment: int
    position: int
    header: BatchHeader


class RecordOutcomes:
    """The markers that decide about a stretch of a partition's log."""

    def __init__(self) -> None:
        self._offsets: dict[int, list[int]] = {}
        self._is_commit: dict[int, list[bool]] = {}
        self._aborted: dict[int, list[AbortedTxn]] = {}

    def add(self, marker: EndTxnMarker) -> None:
        """Add a marker; they come in the order of the log."""
        self._offsets.setdefault(marker.producer_id, []).append(marker.offset)
        self._is_commit.setdefault(marker.producer_id, []).append(marker.commit)

    def add_indexed(self, entries: Iterable[AbortedTxn]) -> None:
        """Add the entries of the transaction indexes, for data whose marker is not in the log any more."""
        for entry in entries:
            self._aborted.setdefault(entry.producer_id, []).append(entry)

    def of(self, header: BatchHeader) -> RecordOutcome | None:
        """Return the outcome of a batch's transaction; None for a batch that is in none, and for markers."""
        if not header.is_transactional or header.is_control:
            return None
        producer_id, offset = header.producer_id, header.base_offset
        offsets = self._offsets.get(producer_id, [])
        at = bisect_right(offsets, offset)
        if at < len(offsets):
            return RecordOutcome.COMMITTED if self._is_commit[producer_id][at] else RecordOutcome.ABORTED
        if any(entry.first_offset <= offset <= entry.last_offset for entry in self._aborted.get(producer_id, ())):
            return RecordOutcome.ABORTED
        return RecordOutcome.OPEN


def read_outcomes(files: PartitionFiles, segment: int, start: int, end: int) -> RecordOutcomes:
    """Return the outcomes of the batches that begin in the bytes [start, end) of a segment."""
    outcomes, pending = RecordOutcomes(), set[int]()
    for place, marker in _walk(files, segment, start):
        if marker is not None:
            outcomes.add(marker)
            pending.discard(marker.producer_id)
        elif place.segment == segment and place.position < end:
            pending.add(place.header.producer_id)
        if not pending and (place.segment != segment or place.position >= end):
            return outcomes
    if pending:
        outcomes.add_indexed(_read_indexes(files, segment))
    return outcomes


def first_open_offset(files: PartitionFiles) -> int | None:
    """Return where the oldest open transaction begins: committed readers get nothing from there on. None if none."""
    begun: dict[int, int] = {}
    for place, marker in _walk(files, 0, 0):
        if marker is not None:
            begun.pop(marker.producer_id, None)
        else:
            begun.setdefault(place.header.producer_id, place.header.base_offset)
    if begun:
        for entry in _read_indexes(files, 0):
            if entry.first_offset <= begun.get(entry.producer_id, -1) <= entry.last_offset:
                del begun[entry.producer_id]
    return min(begun.values(), default=None)


def _walk(files: PartitionFiles, segment: int, start: int) -> Iterator[tuple[BatchPlace, EndTxnMarker | None]]:
    """Yield the transactional batches from a position on to the end of the log, markers with their content."""
    for number in range(segment, len(files.segments)):
        size = files.segments[number].size
        bounds = Bounds(files.segments[number].base_offset, files.limit(number))
        with LogFile(files.log_path(number), size) as file:
            for position, header in walk_headers(file, start if number == segment else 0, size, bounds):
                if not header.is_transactional:
                    continue
                if not header.is_control:
                    yield BatchPlace(number, position, header), None
                elif (marker := _marker_at(file, position, header)) is not None:
                    yield BatchPlace(number, position, header), marker


def _marker_at(file: LogFile, position: int, header: BatchHeader) -> EndTxnMarker | None:
    """Return the marker in a control batch; None if it is damaged, emptied by compaction or of another type."""
    batch = batch_at(file, position, header)
    try:
        return None if batch is None else read_marker(batch)
    except DecodeError:
        return None


def _read_indexes(files: PartitionFiles, segment: int) -> list[AbortedTxn]:
    """Return the entries of the transaction indexes from a segment on, without those that cannot be read."""
    entries: list[AbortedTxn] = []
    for number in range(segment, len(files.segments)):
        data = DISK.content(files.path(number, FileKind.TXN_INDEX))
        try:
            entries += aborted_txns(data or b"")
        except DecodeError:
            continue  # its entries are missing, as said above
    return entries
