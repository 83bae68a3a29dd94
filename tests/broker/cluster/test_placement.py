"""Where partitions are: replicas, leaders and who is in sync, as nodes come and go."""

from collections import Counter

import pytest

from barnabas.broker.catalogue.image import NO_LEADER
from barnabas.broker.cluster.placement import Placement, elected, placed, reassigned, spread, started, stopped

NODES = [1, 2, 3]
WHOLE = Placement((1, 2, 3), (1, 2, 3), 1)


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


def test_a_new_partition_is_led_by_the_first_replica_that_runs() -> None:
    assert placed([3, 1, 2], NODES) == ((3, 1, 2), (3, 1, 2), 3)
    assert placed([3, 1, 2], [1, 2]) == ((3, 1, 2), (1, 2), 1)
    assert placed([3], [1, 2]) == ((3,), (3,), NO_LEADER)


def test_a_stopped_leader_is_followed_by_the_next_replica_in_sync() -> None:
    assert stopped(WHOLE, 1, [2, 3]) == ((1, 2, 3), (2, 3), 2)
    assert stopped(Placement((1, 2, 3), (1, 3), 1), 1, [2, 3]) == ((1, 2, 3), (3,), 3), "2 is not in sync"


def test_a_stopped_follower_leaves_the_isr_and_nothing_else_changes() -> None:
    assert stopped(WHOLE, 2, [1, 3]) == ((1, 2, 3), (1, 3), 1)


def test_the_last_replica_in_sync_stays_so_and_nobody_leads() -> None:
    assert stopped(Placement((1, 2), (1,), 1), 1, [2]) == ((1, 2), (1,), NO_LEADER)


def test_a_node_that_comes_back_is_in_sync_and_leads_only_what_nobody_led() -> None:
    assert started(Placement((1, 2, 3), (2, 3), 2), NODES) == ((1, 2, 3), (1, 2, 3), 2)
    assert started(Placement((1, 2), (1,), NO_LEADER), [1, 2]) == ((1, 2), (1, 2), 1)
    assert started(Placement((1, 2), (1,), NO_LEADER), [2]) == ((1, 2), (1,), NO_LEADER), "2 was not in sync"


def test_a_moved_partition_keeps_its_leader_if_it_can() -> None:
    assert reassigned(WHOLE, [3, 1], NODES) == ((3, 1), (3, 1), 1)
    assert reassigned(WHOLE, [3, 2], NODES) == ((3, 2), (3, 2), 3)


def test_a_moved_partition_that_nobody_led_is_led_by_nobody_unless_the_election_may_be_unclean() -> None:
    leaderless = Placement((1, 2), (1,), NO_LEADER)
    assert reassigned(leaderless, [2, 3], [2, 3]) is None, "neither is in sync"
    assert reassigned(leaderless, [3, 1], [2, 3]) == ((3, 1), (1,), NO_LEADER)
    assert reassigned(leaderless, [3, 2], [2, 3], may_be_unclean=True) == ((3, 2), (3,), 3)


def test_the_preferred_replica_is_elected_where_it_is_in_sync_and_runs() -> None:
    assert elected(Placement((1, 2), (1, 2), 2), NODES, preferred=True) == ((1, 2), (1, 2), 1)
    assert elected(Placement((1, 2), (2,), 2), NODES, preferred=True) is None
    assert elected(Placement((1, 2), (1, 2), 2), [2], preferred=True) is None


def test_any_replica_that_runs_is_elected_where_nobody_led() -> None:
    assert elected(Placement((1, 2, 3), (1,), NO_LEADER), [2, 3], preferred=False) == ((1, 2, 3), (2,), 2)
    assert elected(Placement((1,), (1,), NO_LEADER), [2, 3], preferred=False) is None
