"""How many small mistakes in the broker's core the tests notice: scripts/mutate."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from scripts.mutating.drawing import Mutant, Recorded, again, drawn
from scripts.mutating.judging import Job, Verdict, judge
from scripts.mutating.process import ROOT
from scripts.mutating.recording import record
from scripts.testing.groups import GROUPS
from scripts.testing.setting_up import set_up

GROUP = next(group for group in GROUPS if group.is_measured)
"""The tests that count are of this group, on the newest Python, where noting which lines run costs little."""


def main(arguments: Sequence[str]) -> int:
    options = parse(arguments)
    if Path(sys.prefix) != ROOT / GROUP.venv:
        set_up(GROUP)
        python = str(ROOT / GROUP.venv / "bin" / "python")
        command = [python, "-m", "scripts.mutating", *arguments]
        return subprocess.run(command, env=os.environ | {"BARNABAS_FORM": GROUP.form}, cwd=ROOT, check=False).returncode
    directory = options.directory.resolve()
    before = verdicts(options.before) if options.before else []
    mutants = drawn_again(before) if before else drawn(options.seed, options.count)
    if not (directory / "recorded" / "done").exists():
        record(directory / "recorded", mutants, options.processes)
        (directory / "recorded" / "done").touch()
    tests = Recorded(directory / "recorded")
    killers = {verdict.name: verdict.test for verdict in before}
    results = directory / "results.jsonl"
    known = {verdict.name for verdict in verdicts(results)}
    jobs = [
        Job(
            mutant,
            tests.chosen(number, mutant, options.seconds, killers.get(mutant.name, "")),
            number in tests.early or not mutant.point.reach.lines or mutant.point.mistake.startswith("default"),
        )
        for number, mutant in enumerate(mutants)
        if mutant.name not in known
    ]

    def report(verdict: Verdict) -> None:
        with results.open("a") as file:
            file.write(json.dumps(asdict(verdict)) + "\n")
        print(f"{verdict.outcome:9} {verdict.s} {verdict.name} | {verdict.line} | {verdict.test}", flush=True)

    judge(jobs, options.processes, report)
    summarize(verdicts(results), before)
    return 0


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/mutate", description=__doc__)
    parser.add_argument("--count", type=int, default=400, help="how many mutants are drawn")
    parser.add_argument("--seed", type=int, default=1, help="the seed that they are drawn by")
    parser.add_argument("--seconds", type=float, default=15, help="how many seconds of tests run against each")
    parser.add_argument("--processes", type=int, default=2, help="how many run at a time")
    parser.add_argument("--before", type=Path, help="results.jsonl of another state, whose mutants are measured again")
    parser.add_argument(
        "--directory",
        type=Path,
        default=ROOT / ".cache" / "mutants",
        help="where the recording and results.jsonl are; mutants with a result there do not run again",
    )
    return parser.parse_args(arguments)


def verdicts(file: Path) -> list[Verdict]:
    return [Verdict(**json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []


def drawn_again(before: list[Verdict]) -> list[Mutant]:
    """Return the mutants of another state, except those whose line has disappeared."""
    found = {verdict.name: again(verdict.name, verdict.line) for verdict in before}
    for name in (name for name, mutant in found.items() if mutant is None):
        print(f"gone: {name}")
    return [mutant for mutant in found.values() if mutant is not None]


def summarize(now: list[Verdict], before: list[Verdict]) -> None:
    counts = Counter(verdict.outcome for verdict in now)
    dead = counts["killed"] + counts["timeout"]
    print(
        f"{dead} of {len(now)} mutants die ({counts['timeout']} of them by time), "
        f"{counts['survived']} survive, {counts['unreached']} are reached by no test"
    )
    died = {verdict.name: verdict for verdict in before if verdict.outcome in ("killed", "timeout")}
    for verdict in now:
        if verdict.name in died and verdict.outcome not in ("killed", "timeout"):
            print(f"died before: {verdict.name} | {verdict.line} | by {died[verdict.name].test}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
