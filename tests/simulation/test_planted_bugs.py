"""Bugs planted in the broker, each of which must be found within so many seeds: what cannot be found proves nothing."""

from __future__ import annotations

from random import Random

import pytest

from tests.simulation.many import run_many
from tests.simulation.planted.bugs import BUGS
from tests.simulation.planted.planting import Bug

DRAWN = 6  # in CI


def is_found(bug: Bug) -> bool:
    return any(told.findings for told in run_many(range(1, bug.seeds + 1), planted=bug.name))


def test_bugs_drawn_by_the_days_seed_are_found(seed: int) -> None:
    drawn = Random(seed).sample(sorted(BUGS), DRAWN)
    assert [name for name in drawn if not is_found(BUGS[name])] == []


@pytest.mark.long
@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_found(name: str) -> None:
    assert is_found(BUGS[name])


@pytest.mark.parametrize("name", BUGS)
def test_every_planted_bug_can_be_planted(name: str) -> None:
    for edit in BUGS[name].edits:
        compile(edit.applied(), edit.file, "exec")
