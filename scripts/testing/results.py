"""The result of a group of tests, read from pytest's report, and the closing table, which hides nothing."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from xml.etree import ElementTree

from scripts.testing.groups import ROOT, Group

CI = os.environ.get("CI") == "true"
UNTESTED = ROOT / ".cache" / "coverage" / "untested.txt"
NO_TESTS = 5  # pytest's exit status where nothing was selected
HEAVY = 2  # times what the median of the groups takes of its budget
FEWEST_TO_COMPARE = 5  # groups: the median of fewer says little
FAILURES = 10  # of a group that are repeated below the table
MESSAGE_LINES = 6
LINE_CHARACTERS = 240


@dataclass(frozen=True)
class Row:
    """The result of one group."""

    group: Group
    outcome: str
    seconds: float = 0.0  # by the clock
    processor_s: float = 0.0
    began_s: float = 0.0  # after the run's start
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    coverage: str = ""  # the total, where it was measured
    notes: tuple[str, ...] = ()  # lines that tests add to the table
    failures: tuple[str, ...] = ()  # what failed, each in a few lines

    @property
    def is_good(self) -> bool:
        return self.outcome == "ran" or (self.outcome.startswith("not run") and not CI)


def judge(row: Row, report: Path, status: int) -> Row:
    """Return the row with pytest's counts, failed where a test or the command has failed."""
    row = _counted(row, report, status)
    if row.failed:
        return replace(row, outcome="FAILED")
    if status != 0:
        return replace(row, outcome=f"FAILED: exit status {status}", failed=1)
    return row


def mark_heavy(rows: list[Row]) -> list[Row]:
    """Return the rows, with a note at each group that took far more of its budget than the median of the groups.

    Processor time of the same work differs by three times between machines, and where other programs use the same
    caches; the groups of one run share that. So this compares them with each other, and fails none.
    """
    used = {row.group: row.processor_s / row.group.budget_s for row in rows if row.outcome.startswith("ran")}
    if len(used) < FEWEST_TO_COMPARE:
        return rows
    usual = median(used.values())
    return [
        replace(row, outcome=f"{row.outcome}, heavy: {used[row.group]:.1f} of its budget, others {usual:.1f}")
        if used.get(row.group, 0) > HEAVY * max(1.0, usual)
        else row
        for row in rows
    ]


def _counted(row: Row, report: Path, status: int) -> Row:
    """Count from pytest's report; a command that is not pytest counts as one test."""
    if not report.exists():
        return replace(row, passed=int(status == 0), failed=int(status != 0))
    suite = ElementTree.parse(report).getroot().find("testsuite")  # nosec B314 - written by our own pytest
    if suite is None:
        return replace(row, failed=1)
    failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
    skipped = int(suite.get("skipped", 0))
    notes = tuple(each.get("value", "") for each in suite.iter("property") if each.get("name") == "note")
    passed = int(suite.get("tests", 0)) - failed - skipped
    failures = tuple(_failures(suite))
    return replace(row, passed=passed, failed=failed, skipped=skipped, notes=notes, failures=failures)


def _failures(suite: ElementTree.Element) -> Iterator[str]:
    """Yield a text for each test that failed: its name, the last place in its stack, and how its message begins."""
    for case in suite.iter("testcase"):
        for failure in (*case.findall("failure"), *case.findall("error")):
            place = (failure.text or "").strip().rpartition("\n")[2]
            message = failure.get("message", "").splitlines()[:MESSAGE_LINES]
            lines = (f"{case.get('classname')}::{case.get('name')}", place, *message)
            yield "\n  ".join(line[:LINE_CHARACTERS] for line in lines)


def with_coverage(row: Row) -> Row:
    """Return the row with its coverage; UNTESTED has the details. Below the floor of pyproject.toml it has failed."""
    coverage = [str(ROOT / row.group.venv / "bin" / "python"), "-m", "coverage"]
    subprocess.run([*coverage, "combine", "--quiet"], cwd=ROOT, check=False)  # one file from each process
    reported = subprocess.run([*coverage, "report"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    UNTESTED.write_text(reported.stdout)
    total = next((line.split()[-1] for line in reported.stdout.splitlines() if line.startswith("TOTAL")), "unknown")
    print(f"coverage {total}; what no test reached, by file: {UNTESTED.relative_to(ROOT)}", flush=True)
    if reported.returncode == 0:
        return replace(row, coverage=total)
    why = "coverage below its floor" if reported.returncode == 2 else "its coverage could not be read"
    return replace(row, outcome=f"FAILED: {why}", failed=1, coverage=total)


def print_table(rows: list[Row], seconds: float, all_processor_s: float = 0.0) -> None:
    """Print a line for each group, what failed, the time of all, and last how many tests passed and failed.

    What failed stands in the output of its group too. It is repeated because a log may be cut to its end.
    all_processor_s: of the groups and of their set-up.
    """
    times = f"{'began':>6} {'seconds':>8} {'processor':>10} {'budget':>7}"
    print(f"\n{'group':<15} {'form':<8} {times} {'passed':>7} {'failed':>7} {'skipped':>8}  outcome")
    for row in mark_heavy(rows):
        coverage = f", coverage {row.coverage}" if row.coverage else ""
        print(
            f"{row.group.name:<15} {row.group.form:<8} {row.began_s:>6.0f} {row.seconds:>8.1f} {row.processor_s:>10.1f}"
            f" {row.group.budget_s:>7.0f} {row.passed:>7} {row.failed:>7} {row.skipped:>8}  {row.outcome}{coverage}"
        )
        for note in row.notes:
            print(f"{'':<16}{note}")
    for row in rows:
        for failure in row.failures[:FAILURES]:
            print(f"\n{row.group.name}, {row.group.form}: {failure}")
    not_run = sum(not row.is_good for row in rows if row.outcome.startswith("not run"))
    passed, failed = sum(row.passed for row in rows), sum(row.failed for row in rows) + not_run
    processor_s = sum(row.processor_s for row in rows)
    set_up_s = max(0.0, all_processor_s - processor_s)
    print(
        f"\n{_minutes(seconds)} by the clock, {_minutes(processor_s)} of processor time,"
        f" and {_minutes(set_up_s)} to set up"
    )
    print(f"\n{passed} passed, {failed} failed", flush=True)


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"
