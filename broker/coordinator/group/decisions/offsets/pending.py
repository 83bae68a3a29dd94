# compiled: mypyc
"""Offsets committed in transactions that have not ended: their producers, and the partitions they make unstable.

Knows nothing of other commits. A transaction's marker may be written some time before it is shown (`hold`, then
`release`): commits of its producer in between belong to the next transaction.

Invariant: a partition is unstable exactly while at least one offset for it waits here. An operation on one partition
costs as much as the offsets that wait for it, however many transactions are open.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from barnabas.broker.coordinator.group.decisions.classic.model import CommittedOffset
from barnabas.broker.coordinator.group.decisions.offsets.by_topic import GroupsByTopic

Key = tuple[str, str, int]
"""(group id, topic, partition)"""


class Pending(NamedTuple):
    """A committed offset, and the log offset of its record."""

    committed: CommittedOffset
    record_offset: int


_NOTHING: dict[Key, Pending] = {}
_NO_PARTITIONS: dict[tuple[str, int], list[int]] = {}


class PendingOffsets:
    """The pending offsets of one partition of `__consumer_offsets`."""

    def __init__(self) -> None:
        self._open: dict[int, dict[Key, Pending]] = {}
        self._held: dict[int, dict[Key, Pending]] = {}
        self._unstable: dict[str, dict[tuple[str, int], list[int]]] = {}  # group -> partition -> producers that wait
        self.by_topic = GroupsByTopic()
        """The count of the unstable partitions."""

    def __bool__(self) -> bool:
        """Return whether any offset waits."""
        return bool(self._unstable)

    def __eq__(self, other: object) -> bool:
        """Return whether the same offsets wait for the same producers."""
        if not isinstance(other, PendingOffsets):
            return NotImplemented
        return (self._open, self._held) == (other._open, other._held)

    __hash__ = None  # type: ignore[assignment]  # because it changes

    def unstable(self, group_id: str) -> Collection[tuple[str, int]]:
        """Return (topic, partition) of the group with an offset that waits."""
        return self._unstable.get(group_id, ())

    def producers_of(self, group_id: str, topic: str, partition: int) -> Collection[int]:
        """Return the producers in whose transactions an offset of the group for the partition waits."""
        return dict.fromkeys(self._unstable.get(group_id, _NO_PARTITIONS).get((topic, partition), ()))

    def of_topic(self, group_id: str, topic: str) -> Iterator[tuple[int, CommittedOffset]]:
        """Yield (partition, offset) of all offsets of the group that wait for partitions of the topic."""
        if group_id not in self.by_topic.groups(topic):
            return
        for where, producer_ids in self._unstable[group_id].items():
            if where[0] == topic:
                key = group_id, *where
                for producer_id in dict.fromkeys(producer_ids):
                    for offsets in (self._open.get(producer_id, _NOTHING), self._held.get(producer_id, _NOTHING)):
                        if key in offsets:
                            yield where[1], offsets[key].committed

    def groups_of(self, producer_id: int) -> set[str]:
        """Return the groups with offsets of this producer in transactions whose end is not shown yet."""
        return {key[0] for pending in (self._open, self._held) for key in pending.get(producer_id, _NOTHING)}

    def add(self, producer_id: int, key: Key, pending: Pending) -> None:
        """Add an offset committed in the producer's transaction; a later one for the same partition replaces it."""
        offsets = self._open.setdefault(producer_id, {})
        if key not in offsets:
            self._waits(key, producer_id)
        offsets[key] = pending

    def hold(self, producer_id: int) -> None:
        """Hold the offsets of a transaction whose marker is written and not shown yet."""
        ended = self._open.pop(producer_id, None)
        if ended is not None:
            held = self._held.setdefault(producer_id, {})
            for key in ended.keys() & held.keys():
                self._waits_no_more(key, producer_id)
            held.update(ended)

    def end(self, producer_id: int) -> Mapping[Key, Pending]:
        """Remove and return the offsets that waited for this producer's marker, which is written and shown."""
        return self._ended(producer_id, self._open.pop(producer_id, _NOTHING))

    def release(self, producer_id: int) -> Mapping[Key, Pending]:
        """Remove and return the offsets of a held end, which is shown now."""
        return self._ended(producer_id, self._held.pop(producer_id, _NOTHING))

    def forget(self, key: Key) -> None:
        """Drop the offsets for this partition, which were deleted, in every transaction."""
        group_id, topic, partition = key
        producer_ids = self._unstable.get(group_id, _NO_PARTITIONS).get((topic, partition), ())
        for producer_id in dict.fromkeys(producer_ids):
            for producers in (self._open, self._held):
                offsets = producers.get(producer_id)
                if offsets is not None and offsets.pop(key, None) is not None:
                    self._waits_no_more(key, producer_id)
                    if not offsets:
                        del producers[producer_id]

    def _ended(self, producer_id: int, ended: Mapping[Key, Pending]) -> Mapping[Key, Pending]:
        for key in ended:
            self._waits_no_more(key, producer_id)
        return ended

    def _waits(self, key: Key, producer_id: int) -> None:
        group_id, topic, partition = key
        producer_ids = self._unstable.setdefault(group_id, {}).setdefault((topic, partition), [])
        if not producer_ids:
            self.by_topic.add(topic, group_id)
        producer_ids.append(producer_id)

    def _waits_no_more(self, key: Key, producer_id: int) -> None:
        group_id, topic, partition = key
        partitions = self._unstable[group_id]
        producer_ids = partitions[topic, partition]
        producer_ids.remove(producer_id)
        if producer_ids:
            return
        self.by_topic.remove(topic, group_id)
        del partitions[topic, partition]
        if not partitions:
            del self._unstable[group_id]
