"""Runs mutants, some at a time, each against the tests that reach it, until one fails.

pytest collects all tests once, in this process. A mutant whose function was not called so far runs in a fork, where the
function gets other code; any other mutant in a new process, which imports the mistake. Nothing grows without bounds: a
test has its time limit, and a process its memory limit.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from scripts.mutating import planting, plugin, process
from scripts.mutating.drawing import Mutant
from scripts.mutating.recording import OPTIONS, PLUGIN, TESTS, python_path

LIMIT_S, LIMIT_TIMES = 20.0, 10.0
"""The time limit of a test, and the multiple of its recorded time in addition: a busy machine is no mistake."""
IMPORT_S = 120.0
MEMORY_BYTES = 4 << 30


@dataclass(frozen=True)
class Job:
    """A mutant, the tests to try with their recorded seconds, and whether it has an effect before they begin."""

    mutant: Mutant
    tests: dict[str, float]
    is_early: bool


@dataclass(frozen=True)
class Verdict:
    """The result of a mutant: killed, timeout (which counts as killed), survived or unreached; and by which test."""

    name: str
    line: str
    outcome: str
    test: str
    tried: int
    s: float


def judge(jobs: list[Job], processes: int, report: Callable[[Verdict], None]) -> None:
    """Report the verdict on each mutant, in the order in which they end."""
    for job in jobs:
        if not job.tests:
            report(Verdict(job.mutant.name, job.mutant.line, "unreached", "", 0, 0))
    reached = [job for job in jobs if job.tests]
    here = os.getpid()
    status = pytest.main([*OPTIONS, "-x", *TESTS], plugins=[plugin, _Judging(reached, processes, report)])
    if os.getpid() != here:
        os._exit(status)


class _Judging:
    """Runs the mutants in place of the collected tests."""

    def __init__(self, jobs: list[Job], processes: int, report: Callable[[Verdict], None]) -> None:
        self._jobs = jobs
        self._processes = processes
        self._report = report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Return True when all is done, and None in a fork, for its tests to run."""
        functions = planting.functions()
        gc.freeze()
        waiting, running = self._jobs[::-1], dict[int, _Run]()
        while waiting or running:
            while waiting and len(running) < self._processes:
                run = _Run(waiting.pop())
                pid = os.fork()
                if not pid:
                    run.enter(session, functions)
                    return None
                running[pid] = run
            pid, status = os.waitpid(-1, 0)
            self._report(running.pop(pid).verdict(status))
        return True


class _Run:
    """A process with a mutant and its tests."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._directory = Path(tempfile.mkdtemp(prefix="mutant-"))
        self._began = time.monotonic()
        (self._directory / "journal").touch()
        limits = {test: LIMIT_S + LIMIT_TIMES * s for test, s in job.tests.items()}
        (self._directory / "tests").write_text(json.dumps(limits))

    def enter(self, session: pytest.Session, functions: planting.Functions) -> None:
        """Plant the mutant in this process, a fork, or replace the process by a new one with it."""
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        mutant = self._job.mutant
        os.environ |= {
            process.PLANTED: mutant.planted,
            plugin.JOURNAL: str(self._directory / "journal"),
            plugin.CHOSEN: str(self._directory / "tests"),
            "PYTHONPATH": python_path(),
            "PYTEST_DEBUG_TEMPROOT": str(self._directory),
        }
        signal.setitimer(signal.ITIMER_REAL, IMPORT_S)
        if self._job.is_early or not planting.plant(mutant.file, mutant.point.name, functions):
            files = dict.fromkeys(test.partition("::")[0] for test in self._job.tests)
            command = [sys.executable, "-m", "pytest", *OPTIONS, *PLUGIN, "-x", *files]
            os.execv(sys.executable, command)  # nosec B606 - there is no shell between
        session.config.pluginmanager.unregister(name="terminalreporter")
        session.items = plugin.chosen_of(session.items)

    def verdict(self, status: int) -> Verdict:
        """Return the result, and remove all traces of the process, which has ended."""
        self._end_all()
        notes = [json.loads(line) for line in (self._directory / "journal").read_text().splitlines()]
        begun = [note["begins"] for note in notes if "begins" in note]
        failed = [note["test"] for note in notes if note.get("outcome") == "failed"]
        shutil.rmtree(self._directory, ignore_errors=True)
        outcome, test = "killed", failed[0] if failed else "the import"
        if os.WIFSIGNALED(status):
            test = begun[-1] if begun else test
            outcome = "timeout" if os.WTERMSIG(status) == signal.SIGALRM else outcome
        elif os.WEXITSTATUS(status) in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            outcome, test = "survived", ""
        mutant = self._job.mutant
        return Verdict(mutant.name, mutant.line, outcome, test, len(begun), round(time.monotonic() - self._began, 1))

    def _end_all(self) -> None:
        """Kill programs that its tests started, and that still run: they have its journal in their environment."""
        ours = f"{plugin.JOURNAL}={self._directory / 'journal'}".encode()
        for directory in Path("/proc").glob("[0-9]*"):
            try:
                if ours in (directory / "environ").read_bytes().split(b"\0"):
                    os.kill(int(directory.name), signal.SIGKILL)
            except OSError:
                continue  # it has ended, or is not ours
