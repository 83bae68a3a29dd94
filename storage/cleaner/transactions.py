# compiled: mypyc, as compaction runs it for each record
"""Detection of batches that belong to aborted transactions, and of markers that are no longer needed.

One pass through batches in the order of their offsets. Knows batches by header and kind, and the transactions that were
aborted from the entries of `.txnindex` files; reads no file. A marker can be removed when this pass found no data of
its transaction, which is so once an earlier round has removed them.
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
    """The kind of a batch with respect to transactions."""

    DATA = 0
    COMMIT = 1
    ABORT = 2
    EMPTY_CONTROL = 3
    OTHER_CONTROL = 4


_KINDS = {ControlRecordType.COMMIT: BatchKind.COMMIT, ControlRecordType.ABORT: BatchKind.ABORT}


def kind_of(batch: bytes, header: BatchHeader) -> BatchKind:
    """Return the kind, by the first record of a control batch. DecodeError if that is damaged."""
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
    """The transactions open at the current batch. `kept_entries` belong to the ABORT markers that are retained."""

    def __init__(self) -> None:
        self.kept_entries: list[AbortedTxn] = []
        self._coming: list[tuple[int, AbortedTxn]] = []  # a heap, by first offset
        self._aborted: dict[int, _OngoingAborted] = {}
        self._committed: set[int] = set()

    def add_aborted(self, entries: Iterable[AbortedTxn]) -> None:
        """Add the transactions that overlap the next segment; some of them may have been added already."""
        for entry in entries:
            heappush(self._coming, (entry.first_offset, entry))

    def can_discard(self, header: BatchHeader, kind: BatchKind) -> bool:
        """Take the next batch. Return whether its data were aborted, or whether its marker is no longer needed."""
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
        """Return and remove the entries added since the last call."""
        taken, self.kept_entries = self.kept_entries, []
        return taken

    def _is_aborted_data(self, producer_id: int) -> bool:
        aborted = self._aborted.get(producer_id)
        if aborted is None:
            self._committed.add(producer_id)
            return False
        aborted.has_data = True
        return True
