"""A partition's log for drawing: its offsets, cells, segment borders, and the positions of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.insight.inspection.groups import Position, positions
from barnabas.protocol.records.batch import BatchHeader
from barnabas.storage.errors import FileRemoved
from barnabas.storage.log.log_cells import Cell
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.services import Services
    from barnabas.storage.log.log import PartitionLog

CELLS_MAX = 160
_BATCHES_AT_FIRST = 120
_LAST_CELLS = 40
"""Whose batches tell how long a batch is near the end."""
BORDERS_MAX = 60
GROUPS_MAX = 20


class Strip(NamedTuple):
    """A view of a log. first and end: the range of offsets shown."""

    first: int
    end: int
    log_start_offset: int
    last_stable_offset: int
    high_watermark: int
    log_end_offset: int
    size: int
    segments_count: int
    cells: list[Cell]
    borders: list[int]
    """Offsets where segments begin, within the view."""
    groups: list[Position]
    """The largest lag first."""
    groups_count: int

    @property
    def is_sampled(self) -> bool:
        """Whether a cell stands for many batches."""
        return any(not cell.is_whole for cell in self.cells)


def look(services: Services, topic: str, partition: int, first: int | None, end: int | None) -> Steps[Strip | None]:
    """Return, in steps, the log between two offsets; None if never written to. Raises KafkaError.

    Without offsets it is all of the log, or, if that has more batches than cells, about as many of its last ones.
    """
    log = services.partitions.get_if_written(topic, partition)
    if log is None:
        return None
    try:
        return (yield from _opened(services, log, first, end))
    except FileRemoved:  # retention removed a segment meanwhile: the log as it is now
        return (yield from _opened(services, log, first, end))


def _opened(services: Services, log: PartitionLog, first: int | None, end: int | None) -> Steps[Strip]:
    strip = yield from _look(services, log, first, end)
    if first is not None or end is not None or not strip.is_sampled:
        return strip
    lengths = [each.header.next_offset - each.header.base_offset for each in strip.cells[-_LAST_CELLS:]]
    width = _BATCHES_AT_FIRST * sum(lengths) // len(lengths)
    return (yield from _look(services, log, strip.end - width, strip.end))


def _look(services: Services, log: PartitionLog, first: int | None, end: int | None) -> Steps[Strip]:
    start, log_end = log.log_start_offset, log.log_end_offset
    low = min(max(start if first is None else first, start), max(start, log_end - 1))
    high = min(max(log_end if end is None else end, low + 1), max(log_end, low + 1))
    cells = (yield from log.log_cells(low, high, CELLS_MAX)) if log_end > start else []
    groups = sorted(positions(services, log.topic, log.partition), key=lambda each: (each.offset, each.group_id))
    borders = [base for base, _ in log.extents if low < base < high]
    return Strip(
        low,
        high,
        log.log_start_offset,
        log.last_stable_offset,
        log.high_watermark,
        log.log_end_offset,
        log.size,
        log.segments_count,
        cells,
        borders[:: max(1, -(-len(borders) // BORDERS_MAX))],
        groups[:GROUPS_MAX],
        len(groups),
    )


def transaction_of(services: Services, header: BatchHeader) -> str | None:
    """Return the transactional id of a batch's producer, if that producer still has the id's newest producer id."""
    from barnabas.broker.insight.inspection.transactions import loaded_transactions

    if not header.has_producer_id or not header.is_transactional:
        return None
    ids = (
        txn.transactional_id
        for txn in loaded_transactions(services)
        if header.producer_id in (txn.producer_id, txn.previous_producer_id)
    )
    return next(ids, None)
