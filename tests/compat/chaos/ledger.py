"""The book that is kept of a group whose members come and go: what each was given, read and had acknowledged.

Only what clients were told counts; nothing here looks into the broker. What cannot be true is noted at once, in words.
"""

import threading
from collections.abc import Collection, Iterable, Mapping
from typing import Protocol


class Holder(Protocol):
    """A member, as far as the ledger cares."""

    owner: str
    next_offsets: dict[int, int]
    """Partitions it holds -> the offset that it has to read next; -1: nothing read yet."""
    floors: dict[int, int]
    """What was acknowledged as committed when a partition was given to it."""
    was_put_out: bool
    """It was told that the group goes on without it."""


class Ledger:
    """What the members of one group saw of one topic. `broken` says in words what must not happen and did."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owners: dict[tuple[int, int], str] = {}
        self._holders: dict[int, Holder] = {}
        self._overlaps: list[tuple[int, Holder, str]] = []
        self._acknowledged: dict[int, int] = {}
        self._read_to: dict[int, int] = {}
        self.broken: list[str] = []
        self.handovers = 0
        self.stood_still = False
        """The machine was so busy that sessions may have ended without anybody's fault."""

    def given(self, member: Holder, generation_id: int, partitions: Iterable[int]) -> None:
        """The member was given `partitions`, beside those that it holds already."""
        with self._lock:
            for partition in partitions:
                holder = self._holders.get(partition)
                if holder is not None and holder is not member:
                    self._overlaps.append((partition, holder, member.owner))
                self._holders[partition] = member
                member.next_offsets[partition] = -1
                member.floors[partition] = self._acknowledged.get(partition, 0)
                self.handovers += 1
            for partition in member.next_offsets if generation_id >= 0 else ():  # not every client tells it
                owner = self._owners.setdefault((generation_id, partition), member.owner)
                if owner != member.owner:
                    self.broken.append(f"{partition} had {owner} and {member.owner} in generation {generation_id}")

    def taken(self, member: Holder, partitions: Iterable[int]) -> None:
        """Partitions were taken from the member, or it left."""
        with self._lock:
            for partition in partitions:
                member.next_offsets.pop(partition, None)
                if self._holders.get(partition) is member:
                    del self._holders[partition]

    def read(self, member: Holder, partition: int, offset: int) -> None:
        """A record was read: the next one, or the first since the partition was given."""
        with self._lock:
            expected = member.next_offsets.get(partition)
            read_to = self._read_to.get(partition, 0)
            if expected is None:
                self.broken.append(f"{member.owner} read {partition}@{offset} without having the partition")
                return
            floor = member.floors[partition]
            if expected < 0 and not floor <= offset <= read_to:
                self.broken.append(f"{member.owner} began {partition} at {offset}: {floor} committed, {read_to} read")
            if expected >= 0 and offset != expected:
                self.broken.append(f"{member.owner} read {partition}@{offset} after {expected - 1}")
            member.next_offsets[partition] = offset + 1
            self._read_to[partition] = max(read_to, offset + 1)

    def committed(self, positions: Mapping[int, int]) -> None:
        """The broker acknowledged these."""
        with self._lock:
            for partition, offset in positions.items():
                self._acknowledged[partition] = max(offset, self._acknowledged.get(partition, 0))

    def acknowledged(self) -> dict[int, int]:
        """What was acknowledged as committed until now: partition -> the highest offset."""
        with self._lock:
            return dict(self._acknowledged)

    def found(self, committed: Mapping[int, int], acknowledged: Mapping[int, int]) -> None:
        """The broker tells what is committed, which is not less than what was `acknowledged` before it was asked."""
        with self._lock:
            for partition, offset in acknowledged.items():
                if committed.get(partition, -1) < offset:
                    told = committed.get(partition)
                    self.broken.append(f"{told} is committed of {partition}, where {offset} was acknowledged")
        self.committed(committed)

    def is_shared(self, members: Collection[Holder], partitions: int) -> bool:
        """Whether each of the members holds something, and they hold everything; or something is broken already."""
        with self._lock:
            holding = {id(member) for member in self._holders.values()}
            return bool(self.broken) or (
                len(self._holders) == partitions and holding == {id(member) for member in members}
            )

    def has_read(self, ends: Mapping[int, int]) -> bool:
        """Whether everything below `ends` was read by somebody, or something is broken already."""
        with self._lock:
            return bool(self.broken) or all(self._read_to.get(partition, 0) >= end for partition, end in ends.items())

    def verdict(self) -> list[str]:
        """Everything that went wrong. Two may hold a partition at once only if the first was put out of the group.

        Where the machine stood still it may have been without having heard of it.
        """
        overlaps = [
            f"{owner} was given {partition} while {holder.owner} held it"
            for partition, holder, owner in self._overlaps
            if not holder.was_put_out and not self.stood_still
        ]
        return self.broken + overlaps
