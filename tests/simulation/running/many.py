"""Many seeds in several processes: what each came to, in the order of the seeds.

The processes import the broker only when they have been told which bug is to be planted in it, if one is.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.simulation.history.history import Finding
from tests.simulation.planted.bugs import BUGS
from tests.simulation.planted.planting import plant


@dataclass(frozen=True, slots=True)
class Told:
    """Of one seed."""

    seed: int
    summary: str
    findings: tuple[Finding, ...]
    deaths: int
    committed: int
    simulated_ms: int


def told(seed: int) -> Told:
    """Run it. An exception of the simulation itself is a finding, too: with a bug planted everything may happen."""
    from tests.simulation.running.run import simulate  # imported here, since it imports the broker

    found = simulate(seed)
    return Told(seed, found.summary(), tuple(found.findings), found.deaths, found.committed, found.simulated_ms)


def seeds_that_count(seeds: Iterable[int], planted: str | None) -> list[int]:
    """Those whose plan has what the bug needs to show."""
    from tests.simulation.plans.swarm import plan_for  # imported here, since it imports the broker

    needs = "" if planted is None else BUGS[planted].needs
    return [seed for seed in seeds if not needs or getattr(plan_for(seed), needs)]


def run_many(seeds: Iterable[int], *, planted: str | None = None, processes: int | None = None) -> Iterator[Told]:
    """One after the other comes out; `processes`: as many as there are processors unless given."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes or os.cpu_count(), _begin, (planted,)) as pool:
        yield from pool.imap(told, seeds, chunksize=2)


def _begin(planted: str | None) -> None:
    if planted is not None:
        plant(BUGS[planted])
    import tests.simulation.running.run  # noqa: F401  # imported here, since it imports the broker

    gc.freeze()  # what is there now stays: it is not looked through after each run
