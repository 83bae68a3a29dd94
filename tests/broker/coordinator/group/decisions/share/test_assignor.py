"""The assignor `simple`: sizes as Kafka's (A13 of the probes), and what it never breaks."""

import random

import pytest

from barnabas.broker.coordinator.group.decisions.consumer.assignors.model import SubscriptionType
from barnabas.broker.coordinator.group.decisions.share.assignor import (
    ShareTargets,
    SharingMember,
    SharingSpec,
    assign_shared,
)
from barnabas.storage.steps import finish

T, U = b"\1" * 16, b"\2" * 16


def assigned(members: int, partitions: dict[bytes, int], before: ShareTargets | None = None) -> ShareTargets:
    spec = SharingSpec(
        {f"m{each}": SharingMember(tuple(partitions), (before or {}).get(f"m{each}", {})) for each in range(members)},
        {topic_id: range(count) for topic_id, count in partitions.items()},
        SubscriptionType.HOMOGENEOUS,
    )
    return finish(assign_shared(spec))


@pytest.mark.parametrize(
    ("members", "partitions", "sizes"),
    [
        (2, {T: 3}, [2, 1]),
        (5, {T: 3}, [2, 1, 1, 1, 1]),
        (4, {T: 3}, [2, 1, 2, 1]),
        (3, {T: 1}, [1, 1, 1]),
        (3, {T: 4}, [2, 1, 1]),
        (2, {T: 3, U: 1}, [2, 2]),
        (2, {}, [0, 0]),
    ],
)
def test_every_member_gets_its_share(members: int, partitions: dict[bytes, int], sizes: list[int]) -> None:
    targets = assigned(members, partitions)
    assert [sum(map(len, target.values())) for target in targets.values()] == sizes


@pytest.mark.parametrize("seed", range(30))
def test_each_partition_has_readers_and_members_keep_what_they_had(seed: int) -> None:
    chance = random.Random(seed)
    partitions = {T: chance.randint(1, 6), U: chance.randint(1, 6)}
    before: ShareTargets = {}
    for members in (chance.randint(1, 12) for _ in range(4)):
        targets = assigned(members, partitions, before)
        readers = {(topic_id, each): 0 for topic_id, count in partitions.items() for each in range(count)}
        for target in targets.values():
            for topic_id, numbers in target.items():
                for each in numbers:
                    readers[topic_id, each] += 1
        assert min(readers.values()) >= 1
        assert max(readers.values()) <= -(-members // len(readers))
        assert assigned(members, partitions, targets) == targets, "nothing moves without a reason"
        before = targets


def test_each_topic_is_divided_among_its_own_subscribers() -> None:
    members = {"a": SharingMember((T,), {}), "b": SharingMember((U,), {}), "c": SharingMember((T, U), {})}
    spec = SharingSpec(members, {T: range(2), U: range(2)}, SubscriptionType.HETEROGENEOUS)
    assert finish(assign_shared(spec)) == {"a": {T: (0,)}, "b": {U: (0,)}, "c": {T: (1,), U: (1,)}}


def test_a_partition_that_no_member_has_room_for_does_not_stop_the_next() -> None:
    members = {"a": SharingMember((T,), {T: (0,)}), "b": SharingMember((T,), {})}
    spec = SharingSpec(members, {T: range(3)}, SubscriptionType.HOMOGENEOUS)
    assert sorted(number for target in finish(assign_shared(spec)).values() for number in target[T]) == [0, 1, 2]
