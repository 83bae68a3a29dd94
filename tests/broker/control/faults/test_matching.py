"""Whether a fault matches, and whether it fires then."""

from dataclasses import replace
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.control.faults.matching import (
    Chances,
    DiskPlace,
    RequestNames,
    fits,
    matches_body,
    matches_disk,
    matches_point,
)
from barnabas.broker.control.faults.model import (
    Delay,
    DiskFileKind,
    DiskMatch,
    DiskOperation,
    Often,
    PointMatch,
    RequestMatch,
)


@given(st.text("ab*", max_size=8), st.text("ab*", max_size=10))
def test_a_star_stands_for_any_characters(pattern: str, text: str) -> None:
    assert fits(pattern, text) == fnmatchcase(text, pattern)


@pytest.mark.parametrize(("pattern", "text"), [("a?", "ab"), ("[ab]", "a"), ("A", "a"), ("a.*", "abc")])
def test_everything_else_stands_for_itself(pattern: str, text: str) -> None:
    assert not fits(pattern, text)
    assert fits(pattern, pattern)


ASKED = RequestNames(partitions={"orders": {0, 1}, "bills": None}, groups=["g1"], transactional_ids=["tx"])


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        (RequestMatch(), True),
        (RequestMatch(topic="orders"), True),
        (RequestMatch(topic="order"), False),
        (RequestMatch(topic="*s", partition=1), True),
        (RequestMatch(topic="orders", partition=2), False),
        (RequestMatch(topic="bills", partition=0), False),
        (RequestMatch(topic="bills"), True),
        (RequestMatch(partition=0), True),
        (RequestMatch(group="g*"), True),
        (RequestMatch(group="h*"), False),
        (RequestMatch(transactional_id="tx", group="g1", topic="orders"), True),
        (RequestMatch(transactional_id="ty", group="g1", topic="orders"), False),
    ],
)
def test_the_names_in_a_request_are_compared(match: RequestMatch, expected: bool) -> None:
    assert matches_body(match, ASKED) is expected


def test_a_point_is_matched_by_its_facts() -> None:
    match = PointMatch(point="p", facts={"transactional_id": "t*", "partition": 1, "is_commit": True})
    facts = {"transactional_id": "tx", "partition": 1, "is_commit": True, "other": object()}
    assert matches_point(match, "p", facts)
    assert not matches_point(match, "q", facts)
    assert not matches_point(match, "p", {**facts, "partition": 2})
    assert not matches_point(match, "p", {**facts, "transactional_id": "ux"})


def test_of_a_list_one_is_enough() -> None:
    match = PointMatch(point="p", facts={"partitions": "orders-1"})
    assert matches_point(match, "p", {"partitions": ["orders-0", "orders-1"]})
    assert not matches_point(match, "p", {"partitions": ["orders-0", "orders-10"]})


def test_the_disk_is_matched_by_operation_file_and_partition() -> None:
    match = DiskMatch(operation=DiskOperation.SYNC, topic="__*", partition=1)
    place = DiskPlace(DiskFileKind.LOG, "__consumer_offsets", 1)
    assert matches_disk(match, DiskOperation.SYNC, place)
    assert not matches_disk(match, DiskOperation.APPEND, place)
    assert not matches_disk(match, DiskOperation.SYNC, place._replace(partition=2))
    assert not matches_disk(match, DiskOperation.SYNC, place._replace(topic="orders"))
    assert not matches_disk(match, DiskOperation.SYNC, place._replace(file=DiskFileKind.INDEX))


def test_findings_of_the_whole_data_directory_have_no_topic() -> None:
    place = DiskPlace(DiskFileKind.CHECKPOINT)
    every = DiskMatch(operation=DiskOperation.SYNC, file=DiskFileKind.CHECKPOINT)
    assert matches_disk(every, DiskOperation.SYNC, place)
    assert matches_disk(every, DiskOperation.SYNC, DiskPlace(DiskFileKind.CHECKPOINT, "orders", 0))
    assert not matches_disk(replace(every, topic="orders"), DiskOperation.SYNC, place)
    assert not matches_disk(replace(every, partition=0), DiskOperation.SYNC, place)


def fired(often: Often, count: int, *, seed: int = 0, name: str = "f") -> list[int]:
    chances = Chances(often, seed, name)
    return [number for number in range(1, count + 1) if chances.fires()]


def test_from_the_nth_on_and_so_many_times() -> None:
    assert fired(Often(), 5) == [1]
    assert fired(Often(nth=3), 5) == [3]
    assert fired(Often(nth=2, times=2), 5) == [2, 3]
    assert fired(Often(times=None), 5) == [1, 2, 3, 4, 5]


def test_the_same_seed_gives_the_same_answers_and_another_fault_changes_none() -> None:
    often = Often(probability=0.3, times=None)
    assert fired(often, 200, seed=7) == fired(often, 200, seed=7)
    assert fired(often, 200, seed=7) != fired(often, 200, seed=8)
    assert fired(often, 200, seed=7) != fired(often, 200, seed=7, name="other")
    assert 30 < len(fired(often, 200, seed=7)) < 90


def test_delays_are_distributed_as_asked() -> None:
    chances = Chances(Often(), 0, "f")
    assert chances.delay_ms(Delay(200, 200)) == 200
    between = [chances.delay_ms(Delay(100, 300)) for _ in range(500)]
    assert 100 <= min(between) < 120
    assert 280 < max(between) <= 300
    around = [chances.delay_ms(Delay(0, 0, 200)) for _ in range(5000)]
    assert 180 < sum(around) / len(around) < 220
    assert max(around) <= 4000
