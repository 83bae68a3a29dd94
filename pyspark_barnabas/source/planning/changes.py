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
        losses.append(f"{describe(vanished)} came and went before anything was read of it")
    for (topic, partition), offset in sorted(earliest_of_new.items()):
        if offset != 0:
            losses.append(f"the new partition {topic}-{partition} begins at {offset} and not at 0")
    if gone := start.keys() - end.keys():
        losses.append(f"{describe(gone)} is gone, with everything that was not read of it")
    begins = {**start, **earliest_of_new}
    ranges = []
    for where in sorted(end.keys() & begins.keys()):
        found = OffsetRange(*where, begins[where], end[where])
        if found.size < 0:
            losses.append(
                f"{where[0]}-{where[1]} ends at {found.end}, and was read up to {found.start}: either reading was set"
                " to start behind the end, or the topic was deleted and made again"
            )
        elif found.size:
            ranges.append(found)
    return Changes(ranges, losses)
