"""The states of our member of a consumer group, and the ways between them, are those of Kafka's consumer (0111)."""

from pathlib import Path

import pytest

from barnabas.client.consume.member_states import TRANSITIONS
from tests.support.clients.java import run_program

NOT_HERE = {"PREPARE_LEAVING", "STALE"}

Ways = set[tuple[str, str]]


@pytest.fixture(scope="module")
def kafkas() -> dict[str, set[str]]:
    """The states before each state."""
    lines = run_program(Path(__file__).with_name("MemberStates.java")).splitlines()
    return {state: set(filter(None, before.split(","))) for state, before in (line.split("\t") for line in lines)}


@pytest.fixture(scope="module")
def ours() -> Ways:
    """From which state to which one leads."""
    return {(state.name, following.name) for state, ways in TRANSITIONS.items() for following in ways.values()}


def test_the_states_are_kafkas_but_for_two(kafkas: dict[str, set[str]]) -> None:
    assert {state.name for state in TRANSITIONS} == kafkas.keys() - NOT_HERE


def test_every_way_is_one_of_kafkas(kafkas: dict[str, set[str]], ours: Ways) -> None:
    """A way into LEAVING passes PREPARE_LEAVING there. Staying where one is, is no way."""
    others = {(before, after) for before, after in ours if before != after and before not in kafkas[after]}
    assert {after for _, after in others} == {"LEAVING"}
    assert {before for before, _ in others} <= kafkas["PREPARE_LEAVING"]
    assert kafkas["LEAVING"] == {"PREPARE_LEAVING"}


def test_what_is_not_here_is_failing_after_leaving_and_before_joining(kafkas: dict[str, set[str]], ours: Ways) -> None:
    theirs = {(before, after) for after, states in kafkas.items() for before in states}
    missing = {(before, after) for before, after in theirs - ours if not {before, after} & NOT_HERE}
    assert missing == {("LEAVING", "FENCED"), ("LEAVING", "FATAL"), ("UNSUBSCRIBED", "FATAL")}
