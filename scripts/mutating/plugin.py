"""The pytest plugin for the measurement of mutants: it selects, times and stops tests."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.mutating import process

JOURNAL = "BARNABAS_MUTANTS_JOURNAL"
"""The file that gets a line for each test when it begins, and for each of its reports."""
CHOSEN = "BARNABAS_MUTANTS_TESTS"
"""The file with the tests to run, in this order, and the seconds that each may take; SIGALRM ends the process then."""


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    process.put_first()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if CHOSEN in os.environ:
        items[:] = chosen_of(items)


def chosen_of(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the tests to run, in their order."""
    places = {test: place for place, test in enumerate(_limits())}
    return sorted((item for item in items if item.nodeid in places), key=lambda item: places[item.nodeid])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    process.begin_test()
    _note({"begins": item.nodeid})
    signal.setitimer(signal.ITIMER_REAL, _limits().get(item.nodeid, 0))
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:  # each report also comes to the process that distributes the tests
        _note({"test": report.nodeid, "s": report.duration, "outcome": report.outcome})


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed and JOURNAL in os.environ:
        _note({"test": report.nodeid, "s": 0, "outcome": report.outcome})


def _limits() -> dict[str, float]:
    limits: dict[str, float] = json.loads(Path(os.environ[CHOSEN]).read_text()) if CHOSEN in os.environ else {}
    return limits


def _note(line: dict[str, object]) -> None:
    with Path(os.environ[JOURNAL]).open("a") as journal:
        journal.write(json.dumps(line) + "\n")
