"""Runs of many seeds, of which none may show anything that must not be.

A run takes the same seeds each time: what it finds is due to the change that it runs for. Every planted bug that is
found at all is found under one of them. With `--long` there are more, and other ones each day: what these find was
there before.
"""

import pytest

from tests.simulation.plans.swarm import plan_for
from tests.simulation.planted.found import found as found_first
from tests.simulation.running.many import findings_of
from tests.simulation.running.shrinking import changed, shrunk

SEEDS = sorted({*range(1, 201), *(first.seed for first in found_first().values())})
MORE_SEEDS = sorted({*range(1, 1001)}.difference(SEEDS))
LONG_SEEDS = 10_000


def test_nothing_is_found_under_the_first_seeds() -> None:
    found = findings_of(SEEDS)
    assert not found, "\n".join(found)


@pytest.mark.long
def test_nothing_is_found_under_more_seeds() -> None:
    found = findings_of(MORE_SEEDS)
    assert not found, "\n".join(found)


@pytest.mark.long
def test_nothing_is_found_under_ten_thousand_seeds_of_the_day(seed: int) -> None:
    found = findings_of(range(seed, seed + LONG_SEEDS))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("seed", range(1, 40))
def test_a_plan_of_any_kind_is_made_smaller(seed: int) -> None:
    plan, changes = shrunk(plan_for(seed), lambda tried: tried.protocol == plan_for(seed).protocol)
    assert (plan.length_ms, plan.deaths, plan.security.mistakes) == (500, 0, 0.0)
    assert changed(plan_for(seed), changes) == plan
