"""`scripts/simulate`: the whole trace of one seed, a failure in as little as it takes, or many seeds."""

import argparse
import sys
import time
from typing import Any

from tests.simulation.planted.bugs import BUGS
from tests.simulation.planted.found import FirstFinding, note
from tests.simulation.planted.planting import plant
from tests.simulation.running.many import first_finding, run_many, seeds_that_count

_FINDINGS_SHOWN = 5
_ALL = "all"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/simulate", description="Run the simulated world under seeds.")
    parser.add_argument("--seed", type=int, help="run this one, and print its whole trace")
    parser.add_argument("--shrink", action="store_true", help="find the smallest run of --seed that fails alike")
    parser.add_argument("--with", dest="changes", default="", metavar="FIELD=VALUE,...", help="change the seed's plan")
    parser.add_argument(
        "--walk", metavar="PROTOCOL/SURVIVAL", help="the script of transactions instead of the seed's plan"
    )
    parser.add_argument("--seeds", default="1-100", help="run these, FIRST-LAST, and tell which of them fail")
    parser.add_argument("--jobs", type=int, help="in so many processes; as many as there are processors unless given")
    parser.add_argument(
        "--planted", metavar="BUG", help="with a bug of tests/simulation/planted; all: find each of them"
    )
    options = parser.parse_args(arguments)
    if options.planted == _ALL:
        return _every_bug()
    if options.planted is not None and options.planted not in BUGS:
        parser.error(f"no such bug; there are: {', '.join(BUGS)}")
    try:
        if options.seed is not None:
            return _one(options)
        first, _, last = options.seeds.partition("-")
        seeds = range(int(first), int(last or first) + 1)
    except ValueError as error:
        parser.error(str(error))
    return _many(seeds_that_count(seeds, options.planted), options.jobs, options.planted)


def _one(options: argparse.Namespace) -> int:
    if options.planted is not None:
        plant(BUGS[options.planted])
    from tests.simulation.plans.swarm import plan_for
    from tests.simulation.plans.walk import walk_named
    from tests.simulation.running.run import simulate  # imported here, since they import the broker
    from tests.simulation.running.shrinking import changed, shrunk

    changes: dict[str, Any] = dict(each.split("=", 1) for each in options.changes.split(",") if each)
    planned = plan_for(options.seed) if options.walk is None else walk_named(options.walk)
    plan = changed(planned, changes)
    result = simulate(options.seed, plan)
    if options.shrink and result.findings:
        rule = result.findings[0].rule
        plan, smaller = shrunk(plan, lambda tried: rule in {it.rule for it in simulate(options.seed, tried).findings})
        changes |= smaller
        result = simulate(options.seed, plan)
    print(*result.lines(), sep="\n")
    if result.findings:
        walk = "" if options.walk is None else f" --walk {options.walk}"
        changed_fields = ",".join(f"{name}={value}" for name, value in changes.items())
        print(_again(options.seed, options.planted) + walk + (f" --with {changed_fields}" if changed_fields else ""))
    return int(bool(result.findings))


def _every_bug() -> int:
    """Note by which rule each is found first, and under which seed: `python -m docs.generate` shows it in a page."""
    results: dict[str, FirstFinding] = {}
    are_all_found = True
    for bug in BUGS.values():
        if not bug.is_missed:
            found = first_finding(bug)
            print(f"{bug.name}: {found or f'not found within {bug.seeds} seeds'}", flush=True)
            if found is None:
                are_all_found = False
            else:
                results[bug.name] = found
    note(results)
    return int(not are_all_found)


def _many(seeds: list[int], jobs: int | None, planted: str | None) -> int:
    begun_s = time.monotonic()
    failed = deaths = committed = simulated_ms = 0
    for result in run_many(seeds, planted=planted, processes=jobs):
        deaths, committed = deaths + result.deaths, committed + result.committed
        simulated_ms += result.simulated_ms
        if result.findings:
            failed += 1
            print(result.summary)
            for finding in result.findings[:_FINDINGS_SHOWN]:
                print(f"  {finding.rule}: {finding.text}")
            print(f"  {_again(result.seed, planted)}", flush=True)
    seconds = time.monotonic() - begun_s
    print(
        f"{len(seeds)} seeds in {seconds:.1f} s, {len(seeds) / seconds:.1f} a second: {failed} failed; {deaths} deaths,"
        f" {deaths / seconds:.1f} a second, {committed} committed transactions,"
        f" {simulated_ms / 1000:.0f} simulated seconds"
    )
    return int(failed > 0)


def _again(seed: int, planted: str | None) -> str:
    """The line that repeats a failure."""
    return f"again: scripts/simulate --seed {seed}" + (f' --planted "{planted}"' if planted else "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
