# compiled: mypyc
"""Which records of a share partition one fetch acquires, as Apache Kafka 4.4.0 decides it.

Pure: the batches of the log come as ranges, and the time as a parameter. New records are acquired in whole batches of
the log (BATCH_OPTIMIZED, where the maximum is soft) or up to the maximum (RECORD_LIMIT). Records that were released
come in their old batches. A batch whose deliveries fail is taken apart: from half the delivery count limit on only a
part is acquired, half as large each time, and a record on its last delivery comes alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple

from barnabas.broker.config.resources.share_groups import ShareGroupSettings
from barnabas.broker.partitions.share.in_flight_records import DeliveryCell, InFlightBatch, InFlightRecords
from barnabas.broker.partitions.share.persister import DeliveryState

_ISOLATED_ABOVE = 2  # with a limit of two deliveries no record is isolated


class AcquireMode(IntEnum):
    """How many records a fetch acquires, with Kafka's numbers."""

    BATCH_OPTIMIZED = 0
    RECORD_LIMIT = 1


class LogRange(NamedTuple):
    """The offsets of one batch of the log."""

    first: int
    last: int
    is_aborted: bool = False
    """Whether it is hidden from readers of committed records."""


class Acquired(NamedTuple):
    """Records that one delivery acquired."""

    first: int
    last: int
    delivery_count: int


class AcquireRequest(NamedTuple):
    """The amount of records that a fetch requests, and its member."""

    member: str
    records_max: int
    batch_size: int
    mode: AcquireMode = AcquireMode.BATCH_OPTIMIZED


class Acquisition:
    """The acquisition by one fetch, from one share partition."""

    def __init__(
        self,
        in_flight: InFlightRecords,
        wanted: AcquireRequest,
        log: Sequence[LogRange],
        settings: ShareGroupSettings,
        deadline: float,
    ) -> None:
        self._in_flight = in_flight
        self._wanted = wanted
        self._log = log
        self._settings = settings
        self._deadline = deadline
        self._left = wanted.records_max
        self.acquired: list[Acquired] = []
        """The records, in the order of their offsets."""
        self.is_over = False
        """Whether nothing may be added: records that failed before are isolated."""

    def take_known(self, first: int, last: int) -> None:
        """Acquire the available records in [first, last] that are in flight."""
        for batch in self._in_flight.between(first, last):
            if self._left <= 0 or self.is_over:
                return
            if batch.is_gap:
                self._take_gap(batch, max(first, batch.first), min(last, batch.last))
            else:
                self._take(batch, first, last)

    def take_new(self, first: int, last: int) -> int:
        """Acquire records that were never acquired, from `first` on; return the end of what is in flight then."""
        if self._left <= 0 or self.is_over:
            return first
        batches = self._new_batches(first, last)
        for batch in batches:
            self._in_flight.add(batch)
        return batches[-1].last + 1

    def _take_gap(self, gap: InFlightBatch, first: int, last: int) -> None:
        self._in_flight.fill(gap, self._new_batches(first, last))

    def _new_batches(self, first: int, last: int) -> list[InFlightBatch]:
        whole = min(last, self._end_of_batch_with(first + self._left - 1))
        if self._wanted.mode is AcquireMode.RECORD_LIMIT:
            taken = min(whole, first + self._left - 1)
            cells = [self._acquired_cell(first, taken)]
            if taken < whole:
                cells.append(DeliveryCell(taken + 1, whole, DeliveryState.AVAILABLE, 0))
            return [InFlightBatch(cells)]
        ranges = _by_size(first, whole, self._log, self._wanted.batch_size)
        return [InFlightBatch([self._acquired_cell(*each)]) for each in ranges]

    def _acquired_cell(self, first: int, last: int) -> DeliveryCell:
        self._left -= last - first + 1
        self.acquired.append(Acquired(first, last, 1))
        return DeliveryCell(first, last, DeliveryState.ACQUIRED, 1, self._wanted.member, self._deadline)

    def _end_of_batch_with(self, offset: int) -> int:
        for each in self._log:
            if each.first <= offset <= each.last:
                return each.last
        return offset

    def _take(self, batch: InFlightBatch, first: int, last: int) -> None:
        available = [cell for cell in batch.cells if cell.is_available and cell.last >= first and cell.first <= last]
        if not available:
            return
        throttled = max(cell.count for cell in available) >= throttled_from(self._settings)
        if throttled and self.acquired:
            self.is_over = True
            return
        limit = self._left if self._wanted.mode is AcquireMode.RECORD_LIMIT else batch.size
        part = _Part(batch, available, self._settings, limit)
        self._acquire(batch, part.ranges(first, last))
        self.is_over = throttled

    def _acquire(self, batch: InFlightBatch, ranges: Iterable[tuple[int, int]]) -> None:
        taken: list[Acquired] = []
        for first, last in ranges:
            (cell,) = batch.cut(first, last)
            cell.state, cell.member, cell.deadline = DeliveryState.ACQUIRED, self._wanted.member, self._deadline
            cell.count += 1
            self._left -= cell.size
            if taken and taken[-1].last + 1 == first and taken[-1].delivery_count == cell.count:
                taken[-1] = taken[-1]._replace(last=last)
            else:
                taken.append(Acquired(first, last, cell.count))
        batch.join_cells()
        self.acquired += taken


class _Part:
    """The part of an old batch that is acquired: as much as its failed deliveries allow."""

    def __init__(
        self, batch: InFlightBatch, available: Sequence[DeliveryCell], settings: ShareGroupSettings, limit: int
    ) -> None:
        self._size = batch.size
        self._available = available
        self._settings = settings
        self._left = limit
        self._is_throttled = False

    def ranges(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return the ranges to acquire, each inside one cell."""
        ranges: list[tuple[int, int]] = []
        taken = 0
        for cell in self._available:
            is_last = self._is_last_delivery(cell)
            if self._left <= 0 or (is_last and taken):
                break
            self._throttle(cell, taken)
            begin = max(first, cell.first)
            size = 1 if is_last else min(self._left, min(last, cell.last) - begin + 1)
            if size <= 0:
                break
            ranges.append((begin, begin + size - 1))
            self._left -= size
            taken += size
            if is_last:
                break
        return ranges

    def _is_last_delivery(self, cell: DeliveryCell) -> bool:
        limit = self._settings.delivery_count_limit
        return limit > _ISOLATED_ABOVE and cell.count == limit - 1

    def _throttle(self, cell: DeliveryCell, taken: int) -> None:
        """Reduce what may be acquired at the first record that failed often."""
        over = cell.count - throttled_from(self._settings)
        if over >= 0 and not self._is_throttled:
            self._is_throttled = True
            self._left = min(self._left, max(1, self._size >> (over + 1)) - taken)


def throttled_from(settings: ShareGroupSettings) -> int:
    """Return the delivery count from which a batch is taken apart, to find the record that cannot be processed."""
    return max(2, (settings.delivery_count_limit + 1) // 2)


def _by_size(first: int, last: int, log: Iterable[LogRange], batch_size: int) -> list[tuple[int, int]]:
    """Divide [first, last] at batches of the log, into ranges of at least `batch_size` records but for the last."""
    ranges: list[tuple[int, int]] = []
    if last - first + 1 > batch_size:
        for each in log:
            if first < each.first <= last and each.first - first >= batch_size:
                ranges.append((first, each.first - 1))
                first = each.first
    return [*ranges, (first, last)]
