"""Many runs in several processes: what each came to, in the order in which they were asked for.

The processes import the broker only when they know which bug is to be planted in it, if one is.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from multiprocessing.pool import Pool
from typing import TYPE_CHECKING

from tests.simulation.history.history import Finding
from tests.simulation.planted.bugs import BUGS
from tests.simulation.planted.found import FirstFinding
from tests.simulation.planted.planting import Bug, plant

if TYPE_CHECKING:
    from tests.simulation.plans.plan import Plan  # which imports the broker


@dataclass(frozen=True, slots=True)
class SeedResult:
    """Of one seed."""

    seed: int
    summary: str
    findings: tuple[Finding, ...]
    deaths: int
    committed: int
    simulated_ms: int


def run_seed(seed: int, plan: Plan | None = None) -> SeedResult:
    """Run it. An exception of the simulation itself is a finding, too: with a bug planted everything may happen."""
    from tests.simulation.running.run import simulate  # imported here, since it imports the broker

    found = simulate(seed, plan)
    return SeedResult(seed, found.summary(), tuple(found.findings), found.deaths, found.committed, found.simulated_ms)


def seeds_that_count(seeds: Iterable[int], planted: str | None) -> list[int]:
    """Those whose plan has what the bug needs to show."""
    from tests.simulation.plans.swarm import plan_for  # imported here, since it imports the broker

    needs = "" if planted is None else BUGS[planted].needs
    return [seed for seed in seeds if not needs or getattr(plan_for(seed), needs)]


def run_many(seeds: Iterable[int], *, planted: str | None = None, processes: int | None = None) -> Iterator[SeedResult]:
    """The results, in the order of the seeds. `processes`: as many as there are processors unless given."""
    with _pool(planted, processes) as pool:
        yield from pool.imap(run_seed, seeds, chunksize=2)


def findings_of(seeds: Iterable[int]) -> list[str]:
    """A line for each seed that fails, and for what is found there first."""
    return [
        f"{result.summary}\n  {result.findings[0].rule}: {result.findings[0].text}"
        f"\n  scripts/simulate --seed {result.seed}"
        for result in run_many(seeds)
        if result.findings
    ]


def first_finding(bug: Bug) -> FirstFinding | None:
    """By which rule, and under which seed, a planted bug is found first; None if it is not found within its seeds.

    What ends a run before its first moment is no bug of the broker's, but a fault of what is planted.
    """
    for result in run_many(seeds_that_count(range(1, bug.seeds + 1), bug.name), planted=bug.name):
        if result.findings:
            assert result.simulated_ms > 0, f"{bug.name}: {result.findings[0].text}"
            return FirstFinding(result.findings[0].rule, result.seed)
    return None


def run_plans(plans: Iterable[Plan]) -> Iterator[SeedResult]:
    """Runs of these, with the chance of seed 0."""
    with _pool(None, None) as pool:
        yield from pool.imap(partial(run_seed, 0), plans, chunksize=2)


def _pool(planted: str | None, processes: int | None) -> Pool:
    return multiprocessing.get_context("spawn").Pool(processes or os.cpu_count(), _begin, (planted,))


def _begin(planted: str | None) -> None:
    if planted is not None:
        plant(BUGS[planted])
    import tests.simulation.running.run  # noqa: F401  # imported here, since it imports the broker

    gc.freeze()  # what is there now stays: it is not looked through after each run
