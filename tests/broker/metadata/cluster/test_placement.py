"""Where partitions are: replicas, leaders and who is in sync, as nodes come and go."""

from collections import Counter

import pytest

from barnabas.broker.metadata.cluster.placement import Placement, elected, placed, reassigned, spread, started, stopped
from barnabas.broker.metadata.image.image import NO_LEADER

NODES = [1, 2, 3]


@pytest.mark.parametrize("factor", [1, 2, 3])
def test_leaders_take_turns_and_no_node_has_a_partition_twice(factor: int) -> None:
    replicas = spread("orders", range(9), factor, NODES)
    assert Counter(each[0] for each in replicas) == {1: 3, 2: 3, 3: 3}
    assert all(len(each) == factor == len(set(each)) for each in replicas)


def test_the_followers_of_a_node_are_not_always_the_same() -> None:
    followers = {each[1] for each in spread("orders", range(9), 2, NODES) if each[0] == 1}
    assert followers == {2, 3}


def test_partitions_that_are_added_go_on_where_the_others_ended() -> None:
    assert spread("t", range(6), 2, NODES) == spread("t", range(4), 2, NODES) + spread("t", range(4, 6), 2, NODES)


def test_stopped_nodes_get_replicas_only_where_those_that_run_are_too_few_and_never_the_first() -> None:
    assert {node for each in spread("t", range(6), 2, [1, 3], [2]) for node in each} == {1, 3}
    replicas = spread("t", range(6), 3, [1, 4], [2, 3])
    assert Counter(each[0] for each in replicas) == {1: 3, 4: 3}
    assert Counter(each[2] for each in replicas) == {2: 3, 3: 3}
    assert all(set(each[:2]) == {1, 4} for each in replicas)


def test_replicas_are_in_different_racks_as_long_as_there_are_others() -> None:
    racks = {1: "a", 2: "a", 3: "b", 4: "b"}
    for factor in (2, 3, 4):
        replicas = spread("orders", range(12), factor, [1, 2, 3, 4], racks=racks)
        assert all(len(set(each)) == factor for each in replicas)
        assert all({racks[node] for node in each[:2]} == {"a", "b"} for each in replicas)
        assert Counter(each[0] for each in replicas) == {1: 3, 2: 3, 3: 3, 4: 3}


@pytest.mark.parametrize(
    "racks", [dict.fromkeys(NODES), dict.fromkeys(NODES, "a"), dict(zip(NODES, "abc", strict=True))]
)
def test_racks_change_nothing_where_all_are_one_or_none_or_each_is_its_own(racks: dict[int, str | None]) -> None:
    assert spread("orders", range(9), 2, NODES, racks=racks) == spread("orders", range(9), 2, NODES)


def test_topics_of_one_partition_are_on_all_nodes() -> None:
    assert {spread(f"t{number}", range(1), 1, NODES)[0] for number in range(30)} == {(1,), (2,), (3,)}


WHOLE = Placement((1, 2, 3), (1, 2, 3), 1)
OF_ONE_AND_THREE = Placement((1, 2, 3), (1, 3), 1)
LEADERLESS = Placement((1, 2), (1,), NO_LEADER)
FACTS = {
    "a new partition is led by its first replica": (placed([3, 1, 2], NODES), ((3, 1, 2), (3, 1, 2), 3)),
    "or by the first that runs": (placed([3, 1, 2], [1, 2]), ((3, 1, 2), (1, 2), 1)),
    "or by nobody": (placed([3], [1, 2]), ((3,), (3,), NO_LEADER)),
    "a stopped leader is followed by the next replica": (stopped(WHOLE, 1, [2, 3]), ((1, 2, 3), (2, 3), 2)),
    "but by none that is not in sync": (stopped(OF_ONE_AND_THREE, 1, [2, 3]), ((1, 2, 3), (3,), 3)),
    "a stopped follower leaves the ISR": (stopped(WHOLE, 2, [1, 3]), ((1, 2, 3), (1, 3), 1)),
    "the last one in sync stays so, and nobody leads": (stopped(Placement((1, 2), (1,), 1), 1, [2]), LEADERLESS),
    "who comes back is in sync": (started(Placement((1, 2, 3), (2, 3), 2), NODES), ((1, 2, 3), (1, 2, 3), 2)),
    "and leads what nobody led": (started(LEADERLESS, [1, 2]), ((1, 2), (1, 2), 1)),
    "unless it was not in sync": (started(LEADERLESS, [2]), LEADERLESS),
    "a moved partition keeps its leader": (reassigned(WHOLE, [3, 1], NODES), ((3, 1), (3, 1), 1)),
    "if it can": (reassigned(WHOLE, [3, 2], NODES), ((3, 2), (3, 2), 3)),
    "a leaderless one is not moved away from who is in sync": (reassigned(LEADERLESS, [2, 3], [2, 3]), None),
    "and is led by nobody then": (reassigned(LEADERLESS, [3, 1], [2, 3]), ((3, 1), (1,), NO_LEADER)),
    "unless the election may be unclean": (
        reassigned(LEADERLESS, [3, 2], [2, 3], may_be_unclean=True),
        ((3, 2), (3,), 3),
    ),
    "the preferred replica is elected": (
        elected(Placement((1, 2), (1, 2), 2), NODES, preferred=True),
        ((1, 2), (1, 2), 1),
    ),
    "where it is in sync": (elected(Placement((1, 2), (2,), 2), NODES, preferred=True), None),
    "and runs": (elected(Placement((1, 2), (1, 2), 2), [2], preferred=True), None),
    "any replica that runs is elected where nobody led": (
        elected(Placement((1, 2, 3), (1,), NO_LEADER), [2, 3], preferred=False),
        ((1, 2, 3), (2,), 2),
    ),
    "if there is one": (elected(Placement((1,), (1,), NO_LEADER), [2, 3], preferred=False), None),
}


@pytest.mark.parametrize("fact", FACTS)
def test_a_partition_is_where_it_has_to_be(fact: str) -> None:
    found, expected = FACTS[fact]
    assert found == expected
