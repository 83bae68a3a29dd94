"""The ranges of a batch when topics have changed since the last: new partitions, lost ones, lost offsets. Pure.

A topic with another id is another topic: it was deleted and created again, or the query reads from another cluster. Its
records are others, also where the offsets still exist. That is a loss; who accepts it continues at the same offsets.

Records that cannot be read but should have been are a loss: one sentence for each. The caller fails with them,
or, with failOnDataLoss=false, logs them and continues with the remaining ranges.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.client.metadata import TopicPartition
from pyspark_barnabas.source.offsets import StreamPosition, TopicIds, describe
from pyspark_barnabas.source.ranges import OffsetRange


class Changes(NamedTuple):
    """The ranges to read, and what is lost."""

    ranges: list[OffsetRange]
    losses: list[str]


def new_partitions(start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> set[TopicPartition]:
    """Return the partitions that did not exist when the last batch ended: they are read from their beginning."""
    return end.keys() - start.keys()


def recreated_topics(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the topics whose id is known from both times, and is another now."""
    return sorted(topic for topic in before.keys() & now.keys() if before[topic] != now[topic])


def find_changes(
    start: StreamPosition, end: StreamPosition, earliest_of_new: Mapping[TopicPartition, int], ids_now: TopicIds
) -> Changes:
    """Return the ranges from `start` to `end`.

    earliest_of_new: of `new_partitions`, if they still exist. ids_now: of the topics that exist now; they differ from
    those of `end` if an earlier run planned this batch.
    """
    before, now = {**end.topic_ids, **start.topic_ids}, {**end.topic_ids, **ids_now}
    recreated = recreated_topics(before, now)
    losses = [_recreated(topic, before[topic], now[topic]) for topic in recreated]
    if vanished := new_partitions(start.offsets, end.offsets) - earliest_of_new.keys():
        losses.append(f"{describe(vanished)} was created and deleted before it was read")
    for (topic, partition), offset in sorted(earliest_of_new.items()):
        if offset != 0:
            losses.append(f"the new partition {topic}-{partition} begins at {offset}, not at 0")
    if gone := start.offsets.keys() - end.offsets.keys():
        losses.append(f"{describe(gone)} was deleted or is no longer subscribed, with all records that were not read")
    begins = {**start.offsets, **earliest_of_new}
    ranges = []
    for where in sorted(end.offsets.keys() & begins.keys()):
        found = OffsetRange(*where, begins[where], end.offsets[where])
        if found.size > 0:
            ranges.append(found)
        elif found.size < 0 and found.topic not in recreated:
            losses.append(
                f"{where[0]}-{where[1]} ends at {found.end}, but was read up to {found.start}: either the start was "
                "set after the end, or the topic was deleted and created again"
            )
    return Changes(ranges, losses)


def _recreated(topic: str, before: str, now: str) -> str:
    return (
        f"{topic} had the id {before} when it was last read, and has {now} now: it was deleted and created again, or "
        "this is another cluster, so the checkpoint's offsets are not those of its records (with a new checkpoint a "
        "query reads it from startingOffsets on)"
    )
