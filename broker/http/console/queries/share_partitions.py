"""The share partitions of a group for drawing: what is in flight in each, in ranges of one state."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.insight.inspection.share_partitions import (
    DeliveryRange,
    SharePartitionSummary,
    dead_letters,
    used_share_partitions,
)
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.services import Services

PARTITIONS_MAX = 20
RANGES_MAX = 160
_PARTITIONS_A_STEP = 500


class ShownSharePartition(NamedTuple):
    """One share partition. ranges: the first ones."""

    topic: str
    partition: int
    summary: SharePartitionSummary
    ranges: list[DeliveryRange]

    @property
    def is_whole(self) -> bool:
        """Whether the ranges are all there are."""
        return not self.ranges or self.ranges[-1].last_offset + 1 >= self.summary.end_offset


class QueueFigures(NamedTuple):
    """The figures of all share groups together."""

    in_flight: int
    """Records in flight, in the partitions that members fetch from."""
    dead_letters: int
    """Written since the broker was started, as the next one."""
    lost_dead_letters: int


def queue_figures(services: Services) -> Steps[QueueFigures | None]:
    """Return, in steps, the figures of all share groups; None if no member has fetched since the start."""
    spans = 0
    is_used = False
    for number, each in enumerate(used_share_partitions(services)):
        is_used = True
        spans += each.span
        if number % _PARTITIONS_A_STEP == _PARTITIONS_A_STEP - 1:
            yield
    letters = dead_letters(services)
    if not is_used and not letters:
        return None
    return QueueFigures(spans, sum(each.written for each in letters), sum(each.lost for each in letters))


def in_flight(services: Services, group_id: str) -> Steps[tuple[list[ShownSharePartition], int]]:
    """Return, in steps, the first share partitions that members fetch from, and how many there are."""
    used = sorted(used_share_partitions(services, group_id), key=lambda each: (each.topic, each.partition))
    found = []
    for each in used[:PARTITIONS_MAX]:
        summary = each.summary()
        if summary is not None:
            found.append(ShownSharePartition(each.topic, each.partition, summary, each.ranges(RANGES_MAX)))
        yield
    return found, len(used)
