"""Which member the sticky assignor gives which tasks."""

from collections import Counter
from collections.abc import Mapping
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.coordinator.group.decisions.streams.assignors.model import (
    AssignedStreamsMember,
    TaskAssignorError,
    TaskGroup,
)
from barnabas.broker.coordinator.group.decisions.streams.assignors.priority_queue import PriorityQueue
from barnabas.broker.coordinator.group.decisions.streams.assignors.sticky import sticky
from barnabas.broker.coordinator.group.decisions.streams.tasks import Tasks, TaskSets
from barnabas.storage.steps import finish
from tests.support.worlds.streams_world import tasks

NOTHING = TaskSets()


def assigned(
    members: Mapping[str, tuple[str, TaskSets]], counts: Mapping[str, int], *, stateful: str = "", standby: int = 0
) -> dict[str, TaskSets]:
    """Assign to members, each with its process and its tasks before."""
    specs = {member_id: AssignedStreamsMember(*spec) for member_id, spec in members.items()}
    return finish(sticky(TaskGroup(specs, counts, frozenset(stateful) & counts.keys(), standby)))


def test_one_member_gets_everything() -> None:
    assert assigned({"m": ("p", NOTHING)}, {"0": 2, "1": 1}) == {"m": tasks({"0": [0, 1], "1": [0]})}


def test_two_processes_share_alike() -> None:
    found = assigned({"m": ("p", NOTHING), "n": ("q", NOTHING)}, {"0": 4})
    assert found == {"m": tasks({"0": [0, 2]}), "n": tasks({"0": [1, 3]})}


def test_tasks_stay_up_to_an_even_share() -> None:
    before = tasks({"0": [0, 1, 2, 3]})
    found = assigned({"m": ("p", before), "n": ("q", NOTHING)}, {"0": 4})
    assert found == {"m": tasks({"0": [0, 1]}), "n": tasks({"0": [2, 3]})}


def test_a_standby_task_becomes_active_where_it_was() -> None:
    members = {"m": ("p", tasks({})), "n": ("q", tasks({}, {"0": [1]})), "o": ("r", tasks({"0": [0]}))}
    assert assigned(members, {"0": 2})["n"] == tasks({"0": [1]})


def test_a_process_with_more_members_gets_more() -> None:
    members = {"m": ("p", NOTHING), "n": ("p", NOTHING), "o": ("q", NOTHING)}
    assert {member: len(each.active["0"]) for member, each in assigned(members, {"0": 6}).items()} == dict.fromkeys(
        "mno", 2
    )


def test_standby_tasks_are_never_beside_the_active_one() -> None:
    members = {"m": ("p", NOTHING), "n": ("p", NOTHING)}
    found = assigned(members, {"0": 2}, stateful="0", standby=1)
    assert not any(each.standby for each in found.values())


def test_tasks_without_members_are_an_error() -> None:
    with pytest.raises(TaskAssignorError, match="No process available to assign active task 0_0"):
        assigned({}, {"0": 1})


@given(st.integers(0, 2**32 - 1))
def test_each_task_is_active_once_and_loads_are_even_round_after_round(seed: int) -> None:
    dice = Random(seed)
    counts = {str(number): dice.randint(1, 6) for number in range(dice.randint(1, 3))}
    standby = dice.randint(0, 2)
    members: dict[str, tuple[str, TaskSets]] = {}
    for turn in range(6):
        for gone in dice.sample(sorted(members), dice.randint(0, len(members) // 2)):
            del members[gone]
        for number in range(dice.randint(not members, 3)):
            members[f"m{turn}-{number}"] = (f"p{dice.randrange(4)}", NOTHING)
        found = assigned(members, counts, stateful="02", standby=standby)
        assert Counter(_each(found, "active")) == {(each, n): 1 for each, count in counts.items() for n in range(count)}
        processes = len({process_id for process_id, _ in members.values()})
        expected = min(standby, processes - 1)
        copies = Counter(_each(found, "standby"))
        assert all(count <= expected for count in copies.values())
        assert {subtopology_id for subtopology_id, _ in copies} <= {"0", "2"}
        for member_id in members:
            on_process = [found[each] for each in members if members[each][0] == members[member_id][0]]
            held = [task for sets in on_process for role in sets for task in _flat(role)]
            assert len(held) == len(set(held)), "a process has a task once"
        members = {member_id: (members[member_id][0], found[member_id]) for member_id in members}


def _each(found: Mapping[str, TaskSets], role: str) -> list[tuple[str, int]]:
    return [task for sets in found.values() for task in _flat(getattr(sets, role))]


def _flat(role: Tasks) -> list[tuple[str, int]]:
    return [(subtopology_id, number) for subtopology_id, numbers in role.items() for number in numbers]


def test_equal_entries_leave_a_queue_as_in_java() -> None:
    """The order of `java.util.PriorityQueue` for six entries of two priorities."""
    queue = PriorityQueue(lambda entry: int(entry[1:]), ["a1", "b1", "c1", "d0", "e1", "f0"])
    assert [queue.poll() for _ in range(6)] == ["d0", "f0", "e1", "b1", "c1", "a1"]
    assert not queue
