"""`scripts/simulate`: the whole trace of one seed, or a line for each of many that fails."""

from __future__ import annotations

import argparse
import sys
import time

from tests.simulation.many import run_many
from tests.simulation.run import simulate

_FINDINGS_SHOWN = 5


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/simulate", description="Run the simulated world under seeds.")
    parser.add_argument("--seed", type=int, help="run this one, and print its whole trace")
    parser.add_argument("--seeds", default="1-100", help="run these, FIRST-LAST, and tell which of them fail")
    parser.add_argument("--jobs", type=int, help="in so many processes; as many as there are processors unless given")
    options = parser.parse_args(arguments)
    if options.seed is not None:
        result = simulate(options.seed)
        print(*result.lines(), sep="\n")
        return int(bool(result.findings))
    first, _, last = options.seeds.partition("-")
    try:
        seeds = range(int(first), int(last or first) + 1)
    except ValueError:
        parser.error(f"--seeds is FIRST-LAST, not {options.seeds}")
    return _many(seeds, options.jobs)


def _many(seeds: range, jobs: int | None) -> int:
    begun_s = time.monotonic()
    failed = deaths = committed = simulated_ms = 0
    for told in run_many(seeds, jobs):
        deaths, committed = deaths + told.deaths, committed + told.committed
        simulated_ms += told.simulated_ms
        if told.findings:
            failed += 1
            print(told.summary)
            for finding in told.findings[:_FINDINGS_SHOWN]:
                print(f"  {finding.rule}: {finding.text}")
            print(f"  again: scripts/simulate --seed {told.seed}", flush=True)
    seconds = time.monotonic() - begun_s
    print(
        f"{len(seeds)} seeds in {seconds:.1f} s, {len(seeds) / seconds:.1f} a second: {failed} failed; {deaths} deaths,"
        f" {deaths / seconds:.1f} a second, {committed} committed transactions,"
        f" {simulated_ms / 1000:.0f} simulated seconds"
    )
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
