"""Compares a segment's indexes with its log, entry by entry, during a walk over the log. Stores no batch.

Each check gets every batch and every damaged stretch in the order of the file, then the end. It reports the first wrong
entry of its index and nothing after it, because an index is rebuilt as a whole. The content of a damaged stretch is
unknown, so an entry about it is not reported.

Entries are in the order of their format; the decoder has checked that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from barnabas.logfiles.batch_check import BatchCheck
from barnabas.logfiles.findings import Finding, FindingKind
from barnabas.protocol.files import offset_index, time_index, txn_index
from barnabas.protocol.files.offset_index import OffsetIndexEntry
from barnabas.protocol.files.time_index import TimeIndexEntry
from barnabas.protocol.files.txn_index import AbortedTxn
from barnabas.protocol.records.batch import BatchHeader

Entry = TypeVar("Entry")


class IndexCheck(Protocol):
    """One index, compared with the log during a walk. Each call returns a finding, if there is one."""

    def batch(self, position: int, header: BatchHeader, checked: BatchCheck) -> Finding | None:
        """Check a whole batch at its right place."""

    def damage(self, position: int, size: int) -> Finding | None:
        """Pass a stretch whose content is unknown."""

    def end(self) -> Finding | None:
        """Check the index at the end of the log."""


class _Entries(Generic[Entry]):
    """The remaining entries, and how a wrong one is reported."""

    def __init__(self, kind: FindingKind, path: str, entry_size: int, entries: Sequence[Entry]) -> None:
        self._kind = kind
        self._path = path
        self._entry_size = entry_size
        self._rest: Iterator[Entry] = iter(entries)
        self.number = 0
        self.is_silent = False
        self.next = next(self._rest, None)

    def advance(self) -> None:
        """Continue with the entry after the next one, which is right, or cannot be checked."""
        self.number += 1
        self.next = next(self._rest, None)

    def wrong(self, offset: int, detail: str) -> Finding:
        """Report that the next entry is wrong."""
        position = self.number * self._entry_size
        return self._only(Finding(self._kind, self._path, position, offset, f"entry {self.number} {detail}"))

    def missing(self, offset: int, detail: str) -> Finding:
        """Report that an entry is missing before the next one."""
        return self._only(Finding(self._kind, self._path, None, offset, detail))

    def _only(self, finding: Finding) -> Finding:
        self._rest, self.next, self.is_silent = iter(()), None, True
        return finding


class OffsetIndexCheck:
    """Rule: at each entry's position a batch begins, and its last offset is the entry's offset."""

    def __init__(self, path: str, base_offset: int, entries: Sequence[OffsetIndexEntry]) -> None:
        self._base_offset = base_offset
        self._entries = _Entries(FindingKind.OFFSET_INDEX, path, offset_index.ENTRY_SIZE, entries)

    def batch(self, position: int, header: BatchHeader, checked: BatchCheck) -> Finding | None:
        """Check the next entry: a batch must begin at its position, and end with its offset."""
        entry = self._entries.next
        if entry is None or entry.position > position:
            return None
        if entry.position < position:
            return self._none_begins(entry)
        offset = self._base_offset + entry.relative_offset
        if header.last_offset != offset:
            detail = f"has a batch at {position} that ends at {offset}: it ends at {header.last_offset}"
            return self._entries.wrong(offset, detail)
        self._entries.advance()
        return None

    def damage(self, position: int, size: int) -> Finding | None:
        """Skip entries about the stretch."""
        entry = self._entries.next
        if entry is not None and entry.position < position:
            return self._none_begins(entry)
        while (entry := self._entries.next) is not None and entry.position < position + size:
            self._entries.advance()
        return None

    def end(self) -> Finding | None:
        """Report a remaining entry: it points behind the last batch."""
        entry = self._entries.next
        return None if entry is None else self._none_begins(entry)

    def _none_begins(self, entry: OffsetIndexEntry) -> Finding:
        detail = f"has a batch that begins at {entry.position}: no batch begins there"
        return self._entries.wrong(self._base_offset + entry.relative_offset, detail)


class TimeIndexCheck:
    """Rule: an entry's timestamp is the largest of the batch that has its offset, and of all batches up to there.

    The second half is checked only while every header so far had its largest timestamp: Kafka indexes no other.
    """

    def __init__(self, path: str, base_offset: int, entries: Sequence[TimeIndexEntry]) -> None:
        self._base_offset = base_offset
        self._entries = _Entries(FindingKind.TIME_INDEX, path, time_index.ENTRY_SIZE, entries)
        self._largest: int | None = None
        self._is_certain = True
        self._is_behind_damage = False

    def batch(self, position: int, header: BatchHeader, checked: BatchCheck) -> Finding | None:
        """Check the entries whose offsets are in this batch, or between the batch before and this one."""
        largest = self._largest = checked.largest if self._largest is None else max(self._largest, checked.largest)
        is_doubtful = any(defect.kind is FindingKind.TIMESTAMP for defect in checked.defects)
        self._is_certain = self._is_certain and not header.lacks_max_timestamp and not is_doubtful
        found = None
        while (entry := self._entries.next) is not None:
            offset = self._base_offset + entry.relative_offset
            if offset > header.last_offset:
                break
            if offset >= header.base_offset or not self._is_behind_damage:
                if entry.timestamp != checked.largest:
                    found = self._entries.wrong(
                        offset,
                        f"has {entry.timestamp} at offset {offset}: it is not the largest timestamp of a batch there",
                    )
                    break
                if self._is_certain and entry.timestamp != largest:
                    detail = f"has {entry.timestamp} as the largest timestamp up to offset {offset}: it is {largest}"
                    found = self._entries.wrong(offset, detail)
                    break
            self._entries.advance()
        self._is_behind_damage = False
        return found

    def damage(self, position: int, size: int) -> Finding | None:
        """Pass a stretch: its timestamps are unknown."""
        self._is_certain, self._is_behind_damage = False, True
        return None

    def end(self) -> Finding | None:
        """Report a remaining entry: its offset is behind the last batch."""
        entry = self._entries.next
        if entry is None or self._is_behind_damage:
            return None
        offset = self._base_offset + entry.relative_offset
        return self._entries.wrong(offset, f"has offset {offset}, which is behind the last batch")


class TransactionIndexCheck:
    """Rule: each entry has its ABORT marker; where the index has to be complete, each ABORT marker has its entry.

    It has to be complete in every segment but the last, for transactions with data in this segment. Whether others had
    data cannot be seen from here. Stores the producers that have data in a transaction that has not ended.
    """

    def __init__(self, path: str, entries: Sequence[AbortedTxn], *, is_complete: bool) -> None:
        self._entries = _Entries(FindingKind.TRANSACTION_INDEX, path, txn_index.ENTRY_SIZE, entries)
        self._is_complete = is_complete
        self._with_data = set[int]()
        self._is_behind_damage = False

    def batch(self, position: int, header: BatchHeader, checked: BatchCheck) -> Finding | None:
        """Store a producer with data until its marker; check that an ABORT marker is that of the next entry."""
        found = None
        while (entry := self._entries.next) is not None and entry.last_offset < header.base_offset:
            if not self._is_behind_damage:
                return self._is_none(entry)
            self._entries.advance()
        if header.is_transactional and not header.is_control:
            self._with_data.add(header.producer_id)
        elif (marker := checked.marker) is not None:
            if not marker.commit:
                found = self._aborted(marker.producer_id, marker.offset)
            self._with_data.discard(marker.producer_id)
        self._is_behind_damage = False
        entry = self._entries.next
        return self._is_none(entry) if entry is not None and entry.last_offset <= header.last_offset else found

    def damage(self, position: int, size: int) -> Finding | None:
        """Forget the producers with data: any marker may have been in the stretch."""
        self._with_data.clear()
        self._is_behind_damage = True
        return None

    def end(self) -> Finding | None:
        """Report a remaining entry: it has no marker."""
        entry = self._entries.next
        return None if entry is None or self._is_behind_damage else self._is_none(entry)

    def _aborted(self, producer_id: int, offset: int) -> Finding | None:
        entry = self._entries.next
        if entry is not None and (entry.producer_id, entry.last_offset) == (producer_id, offset):
            self._entries.advance()
        elif (
            self._is_complete
            and not self._entries.is_silent
            and producer_id in self._with_data
            and (entry is None or entry.last_offset > offset)
        ):
            return self._entries.missing(offset, f"the abort of producer {producer_id} at offset {offset} is missing")
        return None

    def _is_none(self, entry: AbortedTxn) -> Finding:
        detail = f"is an abort of producer {entry.producer_id} at {entry.last_offset}: the log has none there"
        return self._entries.wrong(entry.last_offset, detail)
