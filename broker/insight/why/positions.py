"""The records behind a position of a partition, counted by batch headers, in steps and with a limit."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from barnabas.broker.insight.why.rules.consumer import Contents
from barnabas.storage.errors import StorageError
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.storage.log.batches import LogBatch
    from barnabas.storage.log.log import PartitionLog

BATCHES_MAX = 50_000
"""Maximum number of batches examined by one query, over all partitions."""
_BATCHES_A_STEP = 20


class Budget:
    """How many more batches a query may examine."""

    def __init__(self, batches: int = BATCHES_MAX) -> None:
        self.left = batches

    def take(self) -> bool:
        """Take one batch from the budget; return False if none was left."""
        self.left -= 1
        return self.left >= 0


class _Counts:
    """Counts of the records behind a position, classified when their markers are read."""

    def __init__(self, position: int, log_start_offset: int, last_stable_offset: int) -> None:
        self._position = position
        self._looked_from = max(position, log_start_offset)
        self._last_stable_offset = last_stable_offset
        self._pending: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0])  # producer id -> [below it, not below]
        self.readable = self.held_back = self.aborted = self.markers = 0

    def add(self, batch: LogBatch) -> None:
        header, marker = batch
        count = header.records_count
        if header.base_offset < self._position:
            count = min(count, header.last_offset - self._position + 1)
        is_behind = header.base_offset >= self._last_stable_offset
        if header.is_control:
            self.markers += count
            if marker is not None:
                below, behind = self._pending.pop(marker.producer_id, (0, 0))
                if marker.commit:
                    self.readable += below
                    self.held_back += behind
                else:
                    self.aborted += below + behind
        elif header.is_transactional:
            self._pending[header.producer_id][is_behind] += count
        elif is_behind:
            self.held_back += count
        else:
            self.readable += count

    def contents(self, log: PartitionLog, looked_to: int, *, is_whole: bool) -> Contents:
        """Return the present counts; records without a marker so far are of transactions open or decided later."""
        left = [
            (sum(counts), log.transaction_begin(producer_id) is not None)
            for producer_id, counts in self._pending.items()
        ]
        return Contents(
            readable_records=self.readable,
            aborted_records=self.aborted,
            markers=self.markers,
            open_records=sum(count for count, is_open in left if is_open),
            held_back_records=self.held_back,
            undecided_records=sum(count for count, is_open in left if not is_open),
            looked_from=self._looked_from,
            looked_to=looked_to,
            is_whole=is_whole,
        )


def contents(log: PartitionLog, position: int, budget: Budget) -> Steps[Contents]:
    """Return, in steps, the contents between a position and the high watermark, as it was at the start."""
    end = log.high_watermark
    counts = _Counts(position, log.log_start_offset, log.last_stable_offset)
    looked_to = max(position, log.log_start_offset)
    try:
        for number, batch in enumerate(log.batches(looked_to)):
            if batch.header.base_offset >= end:
                break
            if not budget.take():
                return counts.contents(log, looked_to, is_whole=False)
            counts.add(batch)
            looked_to = batch.header.next_offset
            if number % _BATCHES_A_STEP == _BATCHES_A_STEP - 1:
                yield
    except StorageError:  # deleted or damaged in the meantime: the counts so far were true
        return counts.contents(log, looked_to, is_whole=False)
    return counts.contents(log, end, is_whole=True)
