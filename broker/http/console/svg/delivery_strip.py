"""A share partition's strip for drawing: the records in flight by their state, from its start offset on. Pure."""

from __future__ import annotations

from typing import NamedTuple

from barnabas.broker.http.console import formatting
from barnabas.broker.http.console.queries.share_partitions import ShownSharePartition
from barnabas.broker.insight.inspection.share_partitions import DeliveryRange

STRIP_WIDTH = 1000.0
_CELL_WIDTH_MIN = 1.2
_GAP = 0.6
_STYLES = {
    "AVAILABLE": "plain",
    "ACQUIRED": "open",
    "ACKNOWLEDGED": "committed",
    "ARCHIVING": "aborted",
    "ARCHIVED": "aborted",
}


class DrawnRange(NamedTuple):
    """Records in one state: their position, colour and text."""

    x: float
    width: float
    style: str
    description: str


def drawn_ranges(found: ShownSharePartition) -> list[DrawnRange]:
    """Draw the ranges of a share partition, from its start offset to the last range shown."""
    if not found.ranges:
        return []
    first, end = found.ranges[0].first_offset, found.ranges[-1].last_offset + 1
    scale = STRIP_WIDTH / (end - first)
    return [
        DrawnRange(
            round((each.first_offset - first) * scale, 2),
            round(max(_CELL_WIDTH_MIN, each.size * scale - _GAP), 2),
            _STYLES[each.state.name],
            described(each),
        )
        for each in found.ranges
    ]


def described(each: DeliveryRange) -> str:
    """Return the state of a range in words."""
    where = f"offset {each.first_offset}" if each.size == 1 else f"offsets {each.first_offset} to {each.last_offset}"
    text = f"{where}, {each.state.name.lower()}"
    if each.member_id is not None:
        text += f" by {each.member_id}"
    if each.lock_left_ms is not None:
        text += f" for {formatting.duration(each.lock_left_ms)} more"
    text += f", delivery {each.delivery_count}" if each.delivery_count else ", never delivered"
    return f"{text}, not stored yet" if each.is_being_stored else text
