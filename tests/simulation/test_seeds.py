"""Runs of many seeds, of which none may show anything that must not be; other seeds on other days."""

from __future__ import annotations

import pytest

from tests.simulation.many import run_many

SEEDS, LONG_SEEDS = 300, 10_000


def findings(seeds: range) -> list[str]:
    """A line for each seed that fails, and for what is found there first."""
    return [
        f"{told.summary}\n  {told.findings[0].rule}: {told.findings[0].text}\n  scripts/simulate --seed {told.seed}"
        for told in run_many(seeds)
        if told.findings
    ]


def test_nothing_is_found_under_any_seed(seed: int) -> None:
    found = findings(range(seed, seed + SEEDS))
    assert not found, "\n".join(found)


@pytest.mark.long
def test_nothing_is_found_under_ten_thousand_seeds(seed: int) -> None:
    found = findings(range(seed, seed + LONG_SEEDS))
    assert not found, "\n".join(found)
