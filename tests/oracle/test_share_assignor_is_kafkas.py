"""Our assignor `simple` shares out partitions as Kafka 4.4.0's does, round after round, but leaves no place free.

Which of equal members gets which partition differs: Kafka's order is that of Java's hash tables. In about one of 200
assignments of Kafka's, partitions have a member fewer than the others.
"""

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.coordinator.group.decisions.consumer.assignors.model import SubscriptionType
from barnabas.broker.coordinator.group.decisions.share.assignor import (
    Place,
    ShareTargets,
    SharingMember,
    SharingSpec,
    assign_shared,
)
from barnabas.storage.steps import finish
from tests.support.kafka.share_assignor import KafkasShareAssignor

_ROUNDS = 6


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkasShareAssignor]:
    with KafkasShareAssignor() as kafka:
        yield kafka


@given(st.integers(0, 2**32 - 1))
def test_members_and_partitions_have_as_much_as_in_kafka(kafka: KafkasShareAssignor, seed: int) -> None:
    dice = Random(seed)
    topics = {bytes(15) + bytes([number]): dice.randint(1, 6) for number in range(1, dice.randint(2, 5))}
    is_homogeneous = dice.random() < 0.5
    members: dict[str, SharingMember] = {}
    for turn in range(_ROUNDS):
        for gone in dice.sample(sorted(members), dice.randint(0, len(members) // 2)):
            del members[gone]
        for number in range(dice.randint(not members, 4)):
            members[f"m-{turn}-{number}"] = SharingMember(_topics_of_member(dice, list(topics), is_homogeneous), {})
        kind = SubscriptionType.HOMOGENEOUS if is_homogeneous else SubscriptionType.HETEROGENEOUS
        spec = SharingSpec(members, {each: range(count) for each, count in topics.items()}, kind)
        ours, kafkas = finish(assign_shared(spec)), kafka.assign(spec)
        if _readers(ours).total() == _readers(kafkas).total():
            assert _readers(ours) == _readers(kafkas)
            assert _sizes(ours) == _sizes(kafkas)
        else:
            assert _readers(ours) > _readers(kafkas)
        members = {each: members[each]._replace(assignment=kafkas[each]) for each in members}


def _topics_of_member(dice: Random, topics: list[bytes], is_homogeneous: bool) -> tuple[bytes, ...]:
    some = tuple(each for each in topics if is_homogeneous or dice.random() < 0.6)
    return some or (topics[0],)


def _readers(targets: ShareTargets) -> Counter[Place]:
    """How many members have each partition."""
    return Counter(
        (topic_id, each) for mine in targets.values() for topic_id, numbers in mine.items() for each in numbers
    )


def _sizes(targets: ShareTargets) -> list[int]:
    return sorted(sum(map(len, mine.values())) for mine in targets.values())
