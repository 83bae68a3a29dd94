# compiled: mypyc
"""One member's assignment while an assignor computes it: the input, and from its first change a copy in Java's tables.

Knows no shares and no other members. It preserves the order in which Kafka will write the topics and partitions of the
record, since the next assignment depends on that.

Invariants: a topic without partitions is not in the result, unless it is in the input.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from barnabas.broker.coordinator.group.decisions.consumer.assignors.hash_order import (
    DEFAULT_SIZE,
    INTEGER,
    TOPIC_ID,
    HashOrder,
    copied_table_size,
    table_size,
)
from barnabas.broker.coordinator.group.decisions.consumer.assignors.model import Assignment

_PUT_IN_A_STEP = 500
"""Partitions, into a set: some tenths of a millisecond."""


class AssignmentDraft:
    """An assignment that can be changed."""

    __slots__ = ("_given", "_partitions", "_topics")

    def __init__(self, given: Assignment) -> None:
        self._given = given
        self._topics: HashOrder[bytes] | None = None  # None until the first change
        self._partitions: dict[bytes, HashOrder[int]] = {}

    def given(self) -> Generator[None, None, list[tuple[bytes, list[int]]]]:
        """Return the input in the order in which Kafka iterates its copy of the record; one or more steps per topic."""
        found = []
        for topic_id in HashOrder(TOPIC_ID, keys=self._given).in_order():
            partitions = yield from _set_of(self._given[topic_id])
            found.append((topic_id, partitions.in_order()))
            yield
        return found

    def result(self) -> Assignment:
        """Return the assignment in Java's order; the input itself if nothing was changed."""
        if self._topics is None:
            return self._given
        return {topic_id: self._partitions[topic_id].in_order() for topic_id in self._topics.in_order()}

    def copy(self) -> Generator[None, None, None]:
        """Make the copy, if there is none yet, before a change. Kafka does so also where nothing will change."""
        if self._topics is not None:
            return
        given = yield from self.given()
        sets = {}
        for topic_id, partitions in given:
            sets[topic_id] = yield from _set_of(partitions)
            yield
        self._topics = HashOrder(TOPIC_ID, table_size(len(given)), (topic_id for topic_id, _ in given))
        self._partitions = sets

    def add(self, topic_id: bytes, partition: int, new_set_size: int = DEFAULT_SIZE) -> None:
        """Add a partition. `new_set_size`: how many bins the set has, if this is the topic's first partition."""
        assert self._topics is not None, "it was copied"
        if self._topics.compute_if_absent(topic_id):
            self._partitions[topic_id] = HashOrder(INTEGER, new_set_size)
        self._partitions[topic_id].put(partition)

    def remove(self, topic_id: bytes, partition: int) -> None:
        """Remove a partition, and with the last one the topic."""
        assert self._topics is not None, "it was copied"
        partitions = self._partitions[topic_id]
        partitions.remove(partition)
        if not len(partitions):
            self._topics.remove(topic_id)

    def drop(self, topic_id: bytes) -> None:
        """Remove all partitions of a topic."""
        assert self._topics is not None, "it was copied"
        self._topics.remove(topic_id)


def _set_of(partitions: Sequence[int]) -> Generator[None, None, HashOrder[int]]:
    made = HashOrder(INTEGER, copied_table_size(len(partitions)), partitions[:_PUT_IN_A_STEP])
    for begin in range(_PUT_IN_A_STEP, len(partitions), _PUT_IN_A_STEP):
        yield
        for partition in partitions[begin : begin + _PUT_IN_A_STEP]:
            made.put(partition)
    return made
