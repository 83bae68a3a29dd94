"""The assignor of share groups, `simple`: partitions are given to as many members as keeps all equally busy. Pure.

With more members than partitions, each partition is given to several members, ceil(members / partitions) of them; the
sizes of the members' assignments differ by at most one. What a member had it keeps as far as that fits. If members
subscribe to different topics, each topic is divided among its own subscribers.

One difference from Kafka: where no member has room for a partition, the next partition is tried all the same.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from math import ceil
from typing import NamedTuple, TypeAlias

from barnabas.broker.coordinator.group.decisions.consumer.assignors.model import SubscriptionType
from barnabas.broker.coordinator.group.decisions.share.model import SharedPartitions

Place: TypeAlias = tuple[bytes, int]
"""(topic id, partition)"""
ShareTargets: TypeAlias = dict[str, SharedPartitions]
_AT_ONCE = 500


class SharingMember(NamedTuple):
    """A member as the assignor's input."""

    topic_ids: tuple[bytes, ...]
    assignment: SharedPartitions
    """Its target so far."""


class SharingSpec(NamedTuple):
    """A share group as the assignor's input."""

    members: Mapping[str, SharingMember]
    partitions: Mapping[bytes, Sequence[int]]
    """The assignable partitions by topic id, in ascending order."""
    subscription_type: SubscriptionType


def assign_shared(spec: SharingSpec) -> Generator[None, None, ShareTargets]:
    """Return the new targets of all members, in steps."""
    given: dict[str, set[Place]] = {member_id: set() for member_id in spec.members}
    if spec.subscription_type is SubscriptionType.HOMOGENEOUS:
        topic_ids = next(iter(spec.members.values())).topic_ids if spec.members else ()
        places = [(each, number) for each in topic_ids for number in spec.partitions.get(each, ())]
        yield from _Division(spec, list(spec.members), places, given).steps()
    else:
        subscribers: dict[bytes, list[str]] = {}
        for member_id, member in spec.members.items():
            for topic_id in member.topic_ids:
                subscribers.setdefault(topic_id, []).append(member_id)
            yield
        for topic_id, member_ids in subscribers.items():
            places = [(topic_id, number) for number in spec.partitions.get(topic_id, ())]
            yield from _Division(spec, member_ids, places, given).steps()
    targets: ShareTargets = {}
    for member_id, mine in given.items():
        by_topic: dict[bytes, list[int]] = {}
        for topic_id, number in sorted(mine):
            by_topic.setdefault(topic_id, []).append(number)
        targets[member_id] = {topic_id: tuple(numbers) for topic_id, numbers in by_topic.items()}
        yield
    return targets


class _Division:
    """The division of some partitions among some members."""

    def __init__(
        self, spec: SharingSpec, member_ids: list[str], places: list[Place], given: dict[str, set[Place]]
    ) -> None:
        """Prepare it. `given` is what the members have; the division adds to it."""
        self._spec = spec
        self._member_ids = member_ids
        self._given = given
        members_count, places_count = len(member_ids), len(places)
        self._sharing = ceil(members_count / places_count) if places_count else 0
        quota = self._sharing * places_count / members_count if members_count else 0.0
        self._wanted = [ceil(quota * (number + 1)) - ceil(quota * number) for number in range(members_count)]
        self._has: list[dict[Place, None]] = [{} for _ in member_ids]
        self._shared_by: dict[Place, set[int]] = {place: set() for place in places}

    def steps(self) -> Generator[None, None, None]:
        """Divide."""
        for number, member_id in enumerate(self._member_ids):
            self._keep(number, self._spec.members[member_id].assignment)
            yield
        unfilled = [number for number, has in enumerate(self._has) if len(has) < self._wanted[number]]
        yield from self._fill(unfilled)
        for number, member_id in enumerate(self._member_ids):
            self._given[member_id].update(self._has[number])
            yield

    def _keep(self, number: int, before: SharedPartitions) -> None:
        """Let the member keep what it had, up to its own share and the share of each partition."""
        for topic_id, partitions in before.items():
            for partition in partitions:
                sharers = self._shared_by.get((topic_id, partition))
                if sharers is None or len(sharers) >= self._sharing:
                    continue
                if len(self._has[number]) >= self._wanted[number]:
                    return
                sharers.add(number)
                self._has[number][topic_id, partition] = None

    def _fill(self, unfilled: list[int]) -> Generator[None, None, None]:
        """Give partitions with too few members to members with too few partitions, in turn."""
        turn = 0
        for count, (place, sharers) in enumerate(self._shared_by.items(), 1):
            passed_over = 0
            while len(sharers) < self._sharing and passed_over < len(unfilled):
                turn %= len(unfilled)
                number = unfilled[turn]
                if number in sharers:
                    passed_over += 1
                    turn += 1
                    continue
                sharers.add(number)
                self._has[number][place] = None
                passed_over = 0
                if len(self._has[number]) >= self._wanted[number]:
                    del unfilled[turn]
                else:
                    turn += 1
            if not unfilled:
                return
            if not count % _AT_ONCE:
                yield
