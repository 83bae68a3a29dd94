"""Atomic mode: all tasks write in the driver's transaction, as one producer, and so no two of them in one partition.

A producer numbers its records in each partition. Two tasks that both write in one would use the same numbers, and the
broker would take the second one's records for a repetition of the first one's, and drop them. So what two tasks wrote
to is never decided.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark_barnabas.commit.messages import Message, Prepared, WrittenPartition


def describe_overlap(messages: Iterable[Message]) -> str:
    """The sentence that refuses a batch in which two tasks wrote in one partition; empty if none did."""
    writers: dict[tuple[str, int], int] = {}
    for message in messages:
        for topic, partition, _ in message.written if isinstance(message, Prepared) else ():
            other = writers.setdefault((topic, partition), message.partition)
            if other != message.partition:
                return (
                    f"in atomic mode one task writes all rows of a partition, and {topic}-{partition} was written by"
                    f" the tasks {other} and {message.partition}: nothing was decided. Repartition by target partition"
                    " before the sink: give the rows a `partition` column, and use"
                    " df.repartition('topic', 'partition'); or do without atomic mode"
                )
    return ""


def go_on(before: Iterable[WrittenPartition], prepared: Iterable[Prepared]) -> tuple[WrittenPartition, ...]:
    """Where the run's producer goes on in each partition after a batch: what stood in the ledger, and what is new."""
    all_of = {(each.topic, each.partition): each for each in before}
    all_of |= {(each.topic, each.partition): each for task in prepared for each in task.written}
    return tuple(sorted(all_of.values()))
