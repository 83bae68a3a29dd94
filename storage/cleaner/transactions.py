"""Which batches belong to transactions that were aborted, and which markers no longer say anything.

One walk through batches in the order of their offsets. Knows batches by header and kind, and the transactions that were
aborted by what `.txnindex` files say; reads no file. A marker can go when no data of its transaction was met in this
walk, which is so once an earlier round has removed them.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from heapq import heappop, heappush

from barnabas.protocol.files.txn_index import AbortedTxn
from barnabas.protocol.records.batch import BatchHeader
from barnabas.protocol.records.control import ControlRecordType, parse_control_key
from barnabas.protocol.records.record import iter_records

_CONTROL_RECORD_BYTES_MAX = 1 << 20


class BatchKind(IntEnum):
    """What a batch is to a transaction."""

    DATA = 0
    COMMIT = 1
    ABORT = 2
    EMPTY_CONTROL = 3
    OTHER_CONTROL = 4


_KINDS = {ControlRecordType.COMMIT: BatchKind.COMMIT, ControlRecordType.ABORT: BatchKind.ABORT}


def kind_of(batch: bytes, header: BatchHeader) -> BatchKind:
    """The kind, by the first record of a control batch. DecodeError if that is damaged."""
    if not header.is_control:
        return BatchKind.DATA
    record = next(iter_records(batch, max_record_bytes=_CONTROL_RECORD_BYTES_MAX), None)
    if record is None:
        return BatchKind.EMPTY_CONTROL
    return _KINDS.get(parse_control_key(record.key), BatchKind.OTHER_CONTROL)


class _OngoingAborted:
    def __init__(self, entry: AbortedTxn) -> None:
        self.entry = entry
        self.has_data = False


class CleanedTransactions:
    """The transactions that the walk is inside of. `kept_entries` are of the ABORT markers that have to stay."""

    def __init__(self) -> None:
        self.kept_entries: list[AbortedTxn] = []
        self._coming: list[tuple[int, AbortedTxn]] = []  # a heap, by first offset
        self._aborted: dict[int, _OngoingAborted] = {}
        self._committed: set[int] = set()

    def add_aborted(self, entries: Iterable[AbortedTxn]) -> None:
        """Transactions that touch the segment which comes next; those already added may be among them."""
        for entry in entries:
            heappush(self._coming, (entry.first_offset, entry))

    def can_discard(self, header: BatchHeader, kind: BatchKind) -> bool:
        """Take the next batch. Whether its data were aborted, or as a marker it says nothing any more."""
        while self._coming and self._coming[0][0] <= header.last_offset:
            entry = heappop(self._coming)[1]
            if entry.producer_id not in self._aborted:
                self._aborted[entry.producer_id] = _OngoingAborted(entry)
        if kind == BatchKind.DATA:
            return header.is_transactional and self._is_aborted_data(header.producer_id)
        if kind == BatchKind.ABORT:
            found = self._aborted.pop(header.producer_id, None)
            if found is None or not found.has_data:
                return True
            self.kept_entries.append(found.entry)
            return False
        if kind == BatchKind.COMMIT:
            had_data = header.producer_id in self._committed
            self._committed.discard(header.producer_id)
            return not had_data
        return kind == BatchKind.EMPTY_CONTROL

    def take_kept_entries(self) -> list[AbortedTxn]:
        """Those since the last call."""
        taken, self.kept_entries = self.kept_entries, []
        return taken

    def _is_aborted_data(self, producer_id: int) -> bool:
        aborted = self._aborted.get(producer_id)
        if aborted is None:
            self._committed.add(producer_id)
            return False
        aborted.has_data = True
        return True
