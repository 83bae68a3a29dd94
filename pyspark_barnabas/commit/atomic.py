"""Atomic mode: all tasks write in the driver's transaction, as one producer, and so no two of them in one partition.

A producer numbers its records in each partition. Two tasks that both write in one would use the same numbers, and the
broker would treat the second one's records as duplicates of the first one's, and drop them. So a batch is never decided
if two of its tasks wrote to one partition.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark_barnabas.commit.messages import Message, Prepared, WrittenPartition


def describe_overlap(messages: Iterable[Message]) -> str:
    """Return the sentence that refuses a batch in which two tasks wrote in one partition; empty if none did."""
    writers: dict[tuple[str, int], int] = {}
    for message in messages:
        for topic, partition, _ in message.written if isinstance(message, Prepared) else ():
            other = writers.setdefault((topic, partition), message.partition)
            if other != message.partition:
                return (
                    f"in atomic mode one task writes all rows of a partition, but {topic}-{partition} was written by "
                    f"the tasks {other} and {message.partition}: nothing was decided. Repartition by target partition"
                    " before the sink: give the rows a `partition` column, and use"
                    " df.repartition('topic', 'partition'); or turn atomic mode off"
                )
    return ""


def go_on(before: Iterable[WrittenPartition], prepared: Iterable[Prepared]) -> tuple[WrittenPartition, ...]:
    """Return the run's next sequence numbers by partition after a batch: those in the ledger, and the new ones."""
    all_of = {(each.topic, each.partition): each for each in before}
    all_of |= {(each.topic, each.partition): each for task in prepared for each in task.written}
    return tuple(sorted(all_of.values()))
