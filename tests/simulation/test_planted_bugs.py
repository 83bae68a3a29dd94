"""Bugs planted in the broker and in the Spark sink: each must be found within so many seeds.

What cannot be found proves nothing.
"""

import re
from random import Random

import pytest

from tests.simulation.planted.bugs import BUGS
from tests.simulation.planted.found import found
from tests.simulation.planted.planting import Bug
from tests.simulation.running.many import first_finding
from tests.support.source_tree import ROOT

DRAWN = 5  # in CI
FOUND = sorted(name for name, bug in BUGS.items() if not bug.is_missed)
QUICK = [name for name in FOUND if BUGS[name].seeds <= 100]
PAGE = ROOT / "docs" / "testing-barnabas.md"


def is_found(bug: Bug) -> bool:
    return first_finding(bug) is not None


def test_bugs_drawn_by_the_days_seed_are_found(seed: int) -> None:
    assert [name for name in Random(seed).sample(QUICK, DRAWN) if not is_found(BUGS[name])] == []


@pytest.mark.long
@pytest.mark.parametrize("name", FOUND)
def test_a_planted_bug_is_found(name: str) -> None:
    assert is_found(BUGS[name])


@pytest.mark.parametrize("name", BUGS)
def test_every_planted_bug_can_be_planted(name: str) -> None:
    for source, tree in BUGS[name].modules().items():
        compile(tree, source.path, "exec")


def test_the_page_names_the_bugs_that_are_missed() -> None:
    table = PAGE.read_text().split("| missed |")[1].split("\n\n")[0]
    assert re.findall(r"^\| \*(.+)\* \|", table, re.MULTILINE) == sorted(set(BUGS) - set(FOUND))


def test_it_is_noted_of_every_bug_that_is_found_by_which_rule_and_seed() -> None:
    """As `scripts/simulate --planted all` has noted it."""
    assert sorted(found()) == FOUND
    assert [name for name, first in found().items() if first.seed > BUGS[name].seeds] == []
