"""The records that are stored of a ledger that is read as a whole, so that it fits into memory at any length. Pure.

A batch that was decided and is not finished is the last one of its query: a batch is only decided when the one before
it is settled. It need not be the last of the ledger, as another query may come after it, or any number of starts. So
the last two decisions of each query are stored (the one before contains the source offsets), and the record that the
last one is settled. Nothing is stored of a finished query without source offsets, such as a batch write: there may be
many of them.
"""

from __future__ import annotations

from collections import deque

from pyspark_barnabas.cli.sink_state import StoredRecord
from pyspark_barnabas.commit.ledger import Decided, Ledger, Settled

_END_RECORDS = 400


class LedgerSummary:
    """The ledger's end, its newest decision, and what can matter of each query. Records are added oldest first."""

    def __init__(self) -> None:
        self._end: deque[StoredRecord] = deque(maxlen=_END_RECORDS)
        self._newest: list[StoredRecord] = []
        self._of_query: dict[str, list[StoredRecord]] = {}

    def add(self, stored: StoredRecord) -> None:
        """Add the next record."""
        self._end.append(stored)
        record = stored.record
        own = self._of_query.get(record.query_id, [])
        if isinstance(record, Decided):
            own = [*[each for each in own if isinstance(each.record, Decided)][-1:], stored]
            self._newest = own
        elif isinstance(record, Settled) and own and _is_about(record, own[-1]):
            is_newest = self._newest is own
            own = [*own, stored]
            self._newest = own if is_newest else self._newest
        else:
            return
        self._of_query[record.query_id] = own
        if _is_done_for(own):
            del self._of_query[record.query_id]

    def records(self) -> tuple[StoredRecord, ...]:
        """Return the stored records, oldest first."""
        stored = [*self._end, *self._newest, *(each for own in self._of_query.values() for each in own)]
        return tuple(sorted({each.offset: each for each in stored}.values(), key=lambda each: each.offset))


def _is_about(record: Settled, stored: StoredRecord) -> bool:
    decision = stored.record
    return isinstance(decision, Decided) and decision.batch_id == record.batch_id


def _is_done_for(own: list[StoredRecord]) -> bool:
    decided = [each.record for each in own if isinstance(each.record, Decided)]
    return not decided[-1].offsets and Ledger(tuple(each.record for each in own)).is_settled(decided[-1])
