"""Runs groups of tests beside each other, as many as there is place for, and each as soon as it is set up.

A machine has a place for each processor. One thread sets up, one group after the other, while others run already. The
output of a group is printed when it ends, so that lines of two never mix; a group that runs alone prints at once.

Invariant: every given group has one row in the result, in the given order, even if it fails.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from barnabas.broker.cli.serving.ephemeral import choose_base
from scripts.testing import results
from scripts.testing.groups import CHANGED, COMPILED, ROOT, Group
from scripts.testing.results import UNTESTED, Row
from scripts.testing.setting_up import CannotRun, set_up

PLACES = max(2, os.cpu_count() or 2)
HANGS_AFTER_S = 2700.0
END_LINES = 20  # of what a group printed, where no report says what failed
LONG_HANGS_AFTER_S = 3 * HANGS_AFTER_S  # of a group of the tests that other runs leave out


@dataclass(frozen=True)
class Depth:
    """Which tests of each group run: those of every run, or those that it leaves out; and more arguments for pytest."""

    is_long: bool = False
    arguments: tuple[str, ...] = ()
    hangs_after_s: float = HANGS_AFTER_S


def run_all(groups: Sequence[Group], depth: Depth, places: int = PLACES) -> list[Row]:
    """Run `groups`; return a row for each, in their order."""
    board = _Board(groups, places)
    with ThreadPoolExecutor(len(groups) + 1) as threads:
        threads.submit(board.set_up_all, depth)
        rows = [threads.submit(board.run_in_turn, group, depth) for group in groups]
        try:
            return [row.result() for row in rows]
        finally:
            board.stop()  # for what still waits, where this was interrupted


class _Board:
    """Which groups wait, in their order, which are ready to run, and how many places are free."""

    def __init__(self, groups: Sequence[Group], places: float) -> None:
        self._waiting = list(groups)
        self._set_up: dict[Group, Future[None]] = {group: Future() for group in groups}
        self._places = self._free = places
        self._is_alone = len(groups) == 1
        self._is_stopped = False
        self._started = time.monotonic()
        self._changed = threading.Condition()
        self._printing = threading.Lock()

    def set_up_all(self, depth: Depth) -> None:
        """Set up the groups, first those that need no programs and nothing compiled: they run during the others."""
        for group, done in sorted(
            self._set_up.items(), key=lambda item: (item[0].programs != (), item[0].form == COMPILED)
        ):
            try:
                set_up(group, is_long=depth.is_long)
            except Exception as failure:  # raised again where the group runs
                done.set_exception(failure)
            else:
                done.set_result(None)
            with self._changed:
                self._changed.notify_all()

    def stop(self) -> None:
        """Prevent further groups from starting."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()

    def run_in_turn(self, group: Group, depth: Depth) -> Row:
        """Wait until the group is set up and there is place for it, then run it."""
        places = min(group.places, self._places)
        with self._changed:
            self._changed.wait_for(lambda: self._is_stopped or self._is_next(group))
            if self._is_stopped:
                return Row(group, "FAILED: stopped", failed=1)
            self._waiting.remove(group)
            self._free -= places
            self._changed.notify_all()
        try:
            self._set_up[group].result()
            began_s = time.monotonic() - self._started
            return replace(self._run(group, depth), began_s=began_s)
        except CannotRun as reason:
            self._print(f"\n=== {group.name}, {group.form}\n{reason}")
            return Row(group, f"not run: {reason}")
        finally:
            with self._changed:
                self._free += places
                self._changed.notify_all()

    def _is_next(self, group: Group) -> bool:
        """Return whether this is the first of the waiting groups that is set up and fits."""
        fitting = (
            each for each in self._waiting if self._set_up[each].done() and min(each.places, self._places) <= self._free
        )
        return next(fitting, None) is group

    def _run(self, group: Group, depth: Depth) -> Row:
        if self._is_alone:
            self._print(f"\n=== {group.name}, {group.form}")
            return run(group, depth, None)
        self._print(f"--- {group.name}, {group.form}, begins")
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            row = run(group, depth, output)
            output.seek(0)
            printed = output.read()
        self._print(f"\n=== {group.name}, {group.form}\n{printed}")
        return row if row.is_good or row.failures else replace(row, failures=(_end_of(printed),))

    def _print(self, text: str) -> None:
        with self._printing:
            print(text, flush=True)


def _end_of(printed: str) -> str:
    """Return the last lines that a group has printed, for one without a report of what failed."""
    return "\n  ".join(("its output ends with", *printed.splitlines()[-END_LINES:]))


def run(group: Group, depth: Depth, output: IO[str] | None) -> Row:
    """Run a group that is set up; its output goes to `output`, or to that of this process."""
    is_whole = not depth.arguments and not depth.is_long
    is_measured = group.is_measured and is_whole
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        command = list(group.command) or pytest_command(group, report, depth, is_measured=is_measured)
        started = time.monotonic()
        status, processor_s = _run_within([*_environment(group), *command], depth.hangs_after_s, output)
        row = Row(group, "ran", time.monotonic() - started, processor_s)
        if status == results.NO_TESTS and (depth.is_long or group.name == CHANGED):
            return row  # a run leaves nothing of this group out, or all that was selected
        row = results.judge(row, report, status)
    return results.with_coverage(row) if is_measured and row.is_good else row


def _environment(group: Group) -> list[str]:
    """Return the start of a command that runs in the group's form of the hot modules, and may keep bytecode.

    Images and CI machines often set PYTHONDONTWRITEBYTECODE. Then each of the groups would compile all tests again, and
    each broker that they start all modules that have changed since the set-up. The folders of tests are in memory if
    the group takes them there and there is space, but not all that is temporary: TMPDIR has what groups share.
    """
    folders = [f"PYTEST_DEBUG_TEMPROOT={choose_base()}"] if group.is_in_memory else []
    return ["env", "-u", "PYTHONDONTWRITEBYTECODE", f"BARNABAS_FORM={group.form}", *folders]


def pytest_command(group: Group, report: Path, depth: Depth, *, is_measured: bool) -> list[str]:
    """Return the command that runs the group's tests and writes `report`."""
    python = str(ROOT / group.venv / "bin" / "python")
    program = [python, "-m", "pytest"]
    if is_measured:
        shutil.rmtree(UNTESTED.parent, ignore_errors=True)  # of a run that was interrupted
        UNTESTED.parent.mkdir(parents=True, exist_ok=True)
        program = [python, "-m", "coverage", "run", "-m", "pytest"]
    workers = ["-n", str(group.workers)] if group.workers else []
    if group.by_file:
        workers += ["--dist", "loadfile"]
    selection = group.selection(is_long=depth.is_long)
    marks = ["-m", selection] if selection else []
    notes = ["-p", "scripts.testing.reached"] if group.is_measured or group.name == CHANGED else []  # for --changed
    return [*program, "-q", f"--junitxml={report}", *notes, *workers, *marks, *depth.arguments, *group.paths]


def _run_within(command: list[str], timeout_s: float, output: IO[str] | None) -> tuple[int, float]:
    """Return the exit status of `command`, and the processor time of it and of all that it waited for, in seconds.

    SIGABRT makes pytest print the stack of a test that hangs.
    """
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    abort = threading.Timer(timeout_s, os.kill, (process.pid, signal.SIGABRT))
    abort.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    finally:
        abort.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime
