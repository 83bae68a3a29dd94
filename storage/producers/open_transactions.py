# compiled: mypyc
"""The transactions of a partition that limit its last stable offset.

They are open; or completed, with a marker that is not below the high watermark yet; or completed and "held", which wait
for `release`: the coordinator releases all partitions of a transaction in one step. Rules only. Nothing of this is
stored: after a load the first two are derived from the log, and nothing is held.

Invariant: `open` and `unstable` are in the order of the first offsets, since transactions begin at the log's end.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple

from barnabas.protocol.files.txn_index import AbortedTxn
from barnabas.protocol.records.control import EndTxnMarker
from barnabas.storage.steps import Pauses, Steps

_new_tuple: Final = tuple.__new__  # half the cost of a NamedTuple's constructor


class CompletedTxn(NamedTuple):
    """A transaction whose marker is in the log, at `last_offset`."""

    producer_id: int
    first_offset: int
    last_offset: int
    aborted: bool


class OpenTransactions:
    """The transactions of one partition that are undecided, or not yet shown as decided."""

    def __init__(self) -> None:
        self.unstable: OrderedDict[int, int] = OrderedDict()
        """First offset -> producer id. Always the same object: the log reads it with every append."""
        self._open: OrderedDict[int, int] = OrderedDict()  # producer id -> first offset
        self.unreplicated: list[CompletedTxn] = []
        """Completed transactions with a marker not below the high watermark. Always the same object, as `unstable`."""
        self._held: dict[int, list[CompletedTxn]] = {}

    @property
    def first_unstable_offset(self) -> int | None:
        """The first offset of the oldest of them."""
        return next(iter(self.unstable), None)

    @property
    def is_holding(self) -> bool:
        """Whether a completed transaction is held."""
        return bool(self._held)

    def completed_by(self, marker: EndTxnMarker, offset: int) -> CompletedTxn | None:
        """Return the transaction that a marker at `offset` ends; None if the producer has none open here."""
        first_offset = self._open.get(marker.producer_id)
        if first_offset is None:
            return None
        return _new_tuple(CompletedTxn, (marker.producer_id, first_offset, offset, not marker.commit))

    def aborted_txn(self, completed: CompletedTxn) -> AbortedTxn:
        """Return its entry for the transaction index, with the last stable offset after it."""
        others = (first for producer_id, first in self._open.items() if producer_id != completed.producer_id)
        last_stable_offset = next(others, completed.last_offset + 1)
        return AbortedTxn(completed.producer_id, completed.first_offset, completed.last_offset, last_stable_offset)

    def begin(self, producer_id: int, first_offset: int) -> None:
        """Add a transaction whose first batch is in the log."""
        assert not self.unstable or first_offset > next(reversed(self.unstable)), (
            f"producer {producer_id} begins a transaction at {first_offset}, before one at "
            f"{next(reversed(self.unstable))}"
        )
        self._open[producer_id] = first_offset
        self.unstable[first_offset] = producer_id

    def end(self, completed: CompletedTxn, *, hold: bool) -> None:
        """Complete a transaction whose marker is in the log."""
        del self._open[completed.producer_id]
        if hold:
            self._held.setdefault(completed.producer_id, []).append(completed)
        else:
            self.unreplicated.append(completed)

    def release(self, producer_id: int, high_watermark: int) -> None:
        """Release the held transactions of a producer."""
        for completed in self._held.pop(producer_id, ()):
            if completed.last_offset < high_watermark:
                del self.unstable[completed.first_offset]
            else:
                self.unreplicated.append(completed)

    def high_watermark_moved(self, high_watermark: int) -> None:
        """Drop transactions whose marker is below the high watermark: they no longer limit the last stable offset."""
        if self.unreplicated:
            for completed in self.unreplicated:
                if completed.last_offset < high_watermark:
                    del self.unstable[completed.first_offset]
            self.unreplicated[:] = [txn for txn in self.unreplicated if txn.last_offset >= high_watermark]

    def restore(self, opened: list[tuple[int, int]]) -> Steps[None]:
        """Replace all transactions by these (first offset, producer id)."""
        for known in (self.unstable, self._open, self.unreplicated, self._held):
            known.clear()
        pauses = Pauses()
        for first_offset, producer_id in sorted(opened):
            self.begin(producer_id, first_offset)
            if pauses.is_due():
                yield
