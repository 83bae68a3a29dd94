"""Offsets committed inside transactions that have not ended: whose they are, and which partitions they make unstable.

Knows nothing of what is committed besides. A transaction's marker may be written some time before it is shown (`hold`,
then `release`): what its producer commits in between belongs to the next transaction.

Invariant: a partition is unstable exactly while at least one offset for it waits here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from broker.coordinator.group.model import CommittedOffset

Key = tuple[str, str, int]
"""(group id, topic, partition)"""


class Pending(NamedTuple):
    """A committed offset, and the log offset of its record."""

    committed: CommittedOffset
    record_offset: int


_NOTHING: dict[Key, Pending] = {}


class PendingOffsets:
    """All of one partition of `__consumer_offsets`."""

    def __init__(self) -> None:
        self._open: dict[int, dict[Key, Pending]] = {}
        self._held: dict[int, dict[Key, Pending]] = {}
        self._unstable: dict[str, dict[tuple[str, int], int]] = {}  # group -> partition -> how many offsets wait

    def __bool__(self) -> bool:
        """Whether any offset waits."""
        return bool(self._unstable)

    def __eq__(self, other: object) -> bool:
        """Whether the same offsets wait for the same producers."""
        if not isinstance(other, PendingOffsets):
            return NotImplemented
        return (self._open, self._held) == (other._open, other._held)

    __hash__ = None  # type: ignore[assignment]  # because it changes

    def unstable(self, group_id: str) -> Collection[tuple[str, int]]:
        """(topic, partition) of the group with an offset that waits."""
        return self._unstable.get(group_id, ())

    def of_group(self, group_id: str) -> Iterator[tuple[str, int, CommittedOffset]]:
        """(topic, partition, offset) of everything of the group that waits."""
        if group_id in self._unstable:
            for offsets in (*self._open.values(), *self._held.values()):
                for key, pending in offsets.items():
                    if key[0] == group_id:
                        yield key[1], key[2], pending.committed

    def add(self, producer_id: int, key: Key, pending: Pending) -> None:
        """The producer committed this in its transaction; a later commit for the same partition replaces it."""
        offsets = self._open.setdefault(producer_id, {})
        if key not in offsets:
            self._count(key, 1)
        offsets[key] = pending

    def hold(self, producer_id: int) -> None:
        """The transaction's marker is written and not shown yet."""
        ended = self._open.pop(producer_id, None)
        if ended is not None:
            held = self._held.setdefault(producer_id, {})
            for key in ended.keys() & held.keys():
                self._count(key, -1)
            held.update(ended)

    def end(self, producer_id: int) -> Mapping[Key, Pending]:
        """What waited for this producer's marker, which is written and shown."""
        return self._uncounted(self._open.pop(producer_id, _NOTHING))

    def release(self, producer_id: int) -> Mapping[Key, Pending]:
        """What waited for the end that was held to be shown."""
        return self._uncounted(self._held.pop(producer_id, _NOTHING))

    def forget(self, key: Key) -> None:
        """What is committed for this partition was deleted, in every transaction too."""
        if (key[1], key[2]) not in self.unstable(key[0]):
            return
        for producers in (self._open, self._held):
            for producer_id, offsets in list(producers.items()):
                if offsets.pop(key, None) is not None:
                    self._count(key, -1)
                    if not offsets:
                        del producers[producer_id]

    def _uncounted(self, ended: Mapping[Key, Pending]) -> Mapping[Key, Pending]:
        for key in ended:
            self._count(key, -1)
        return ended

    def _count(self, key: Key, step: int) -> None:
        group_id, topic, partition = key
        counts = self._unstable.setdefault(group_id, {})
        where = topic, partition
        count = counts.get(where, 0) + step
        if count:
            counts[where] = count
            return
        counts.pop(where, None)
        if not counts:
            del self._unstable[group_id]
