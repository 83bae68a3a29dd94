"""Many seeds in several processes: what each came to, in the order of the seeds."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.simulation.history import Finding
from tests.simulation.run import simulate


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
    """Run it; an exception of the simulation itself says which seed it was."""
    try:
        found = simulate(seed)
    except Exception as error:
        raise AssertionError(f"seed {seed}: {error!r}") from error
    return Told(seed, found.summary(), tuple(found.findings), found.deaths, found.committed, found.simulated_ms)


def run_many(seeds: Iterable[int], processes: int | None = None) -> Iterator[Told]:
    """One after the other comes out; `processes`: as many as there are processors unless given."""
    with multiprocessing.get_context("spawn").Pool(processes or os.cpu_count()) as pool:
        yield from pool.imap(told, seeds, chunksize=4)
