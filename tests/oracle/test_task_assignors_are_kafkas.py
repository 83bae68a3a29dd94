"""Our task assignor `sticky` gives every streams group what Kafka 4.4.0's does, round after round."""

from collections.abc import Iterator, Mapping
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.coordinator.group.decisions.consumer.assignors.input_order import member_order
from barnabas.broker.coordinator.group.decisions.streams.assignors.model import AssignedStreamsMember, TaskGroup
from barnabas.broker.coordinator.group.decisions.streams.assignors.sticky import sticky
from barnabas.broker.coordinator.group.decisions.streams.tasks import TaskSets
from barnabas.storage.steps import finish
from tests.support.kafka.task_assignors import KafkasTaskAssignor

_ROUNDS = 8


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkasTaskAssignor]:
    with KafkasTaskAssignor() as kafka:
        yield kafka


@given(st.integers(0, 2**32 - 1))
def test_a_group_gets_what_kafka_gives_it(kafka: KafkasTaskAssignor, seed: int) -> None:
    for group in _life(Random(seed)):
        assert finish(sticky(group)) == kafka.assign(group)


def _life(dice: Random) -> Iterator[TaskGroup]:
    """A group whose members come and go, round after round."""
    ids = [str(number) for number in range(dice.randint(1, 4))]
    counts = {each: dice.randint(1, 12) for each in ids}
    stateful = frozenset(each for each in ids if dice.random() < 0.7)
    processes = dice.randint(1, 6)
    members: dict[str, AssignedStreamsMember] = {}
    for turn in range(_ROUNDS):
        for gone in dice.sample(sorted(members), dice.randint(0, len(members) // 2)):
            del members[gone]
        for number in range(dice.randint(not members, 5)):
            process_id = f"process-{dice.randrange(processes)}"
            members[f"m-{turn}-{number}-{dice.randrange(1000)}"] = AssignedStreamsMember(process_id, TaskSets())
        in_order = {each: members[each] for each in finish(member_order(members))}
        reporting = {each: spec._replace(offset_sums=_offset_sums(dice, counts)) for each, spec in in_order.items()}
        group = TaskGroup(reporting, counts, stateful, dice.choice((0, 1, 1, 2)))
        yield group
        found = finish(sticky(group))
        members = {each: members[each]._replace(before=found[each]) for each in members}


def _offset_sums(dice: Random, counts: Mapping[str, int]) -> dict[str, dict[int, int]]:
    """Positions of a member in changelogs, often none and often alike."""
    if dice.random() < 0.5:
        return {}
    return {
        each: {number: dice.choice((0, 5, 5, 100)) for number in range(count) if dice.random() < 0.3}
        for each, count in counts.items()
    }
