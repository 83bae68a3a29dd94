"""The ranges of a batch when topics have changed since the last: new partitions, lost ones, lost offsets. Pure.

Records that cannot be read but should have been are a loss: one sentence for each. The caller fails with them,
or, with failOnDataLoss=false, logs them and continues with the remaining ranges.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.client.metadata import TopicPartition
from pyspark_barnabas.source.offsets import describe
from pyspark_barnabas.source.ranges import OffsetRange


class Changes(NamedTuple):
    """The ranges to read, and what is lost."""

    ranges: list[OffsetRange]
    losses: list[str]


def new_partitions(start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> set[TopicPartition]:
    """Return the partitions that did not exist when the last batch ended: they are read from their beginning."""
    return end.keys() - start.keys()


def find_changes(
    start: Mapping[TopicPartition, int],
    end: Mapping[TopicPartition, int],
    earliest_of_new: Mapping[TopicPartition, int],
) -> Changes:
    """Return the ranges from `start` to `end`. earliest_of_new: of `new_partitions`, if they still exist."""
    losses: list[str] = []
    if vanished := new_partitions(start, end) - earliest_of_new.keys():
        losses.append(f"{describe(vanished)} was created and deleted before it was read")
    for (topic, partition), offset in sorted(earliest_of_new.items()):
        if offset != 0:
            losses.append(f"the new partition {topic}-{partition} begins at {offset}, not at 0")
    if gone := start.keys() - end.keys():
        losses.append(f"{describe(gone)} was deleted, with all records that were not read")
    begins = {**start, **earliest_of_new}
    ranges = []
    for where in sorted(end.keys() & begins.keys()):
        found = OffsetRange(*where, begins[where], end[where])
        if found.size < 0:
            losses.append(
                f"{where[0]}-{where[1]} ends at {found.end}, but was read up to {found.start}: either the start was "
                "set after the end, or the topic was deleted and created again"
            )
        elif found.size:
            ranges.append(found)
    return Changes(ranges, losses)
