"""A pytest plugin that notes which functions of the repository each file of tests reaches: -p scripts.testing.reached.

`scripts/test --changed` reads the notes. They are in .cache/reached, a file for each file of tests, and every run of
whole files writes theirs anew; one process must run all tests of a file. Python 3.11, which has no sys.monitoring,
notes nothing, and neither do the programs that tests start: for those `starts_programs` shows that there were any.

A function costs one call for each file of tests: then Python stops reporting it, until the next file restarts that.
Coverage, which listens beside, is restarted with it, and counts the same lines again.

Invariant: functions are named without lines, so that the notes outlive an edit elsewhere in the file.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Generator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import CodeType

import pytest

FOLDER = Path(".cache") / "reached"
TOOL_ID = 4  # coverage takes 1, a profiler 2
NAME = "barnabas-reached"
_PROGRAMS = frozenset({"subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.exec"})
_NOT_OURS = (".venv", ".cache", "build/", "node_modules/")


@dataclass
class Reach:
    """The functions that one file of tests reaches."""

    tests: str
    processor_s: float = 0.0
    starts_programs: bool = False
    functions: dict[str, list[str]] = field(default_factory=dict)  # qualified names, by the file they are in


def recorded(root: Path) -> dict[str, Reach]:
    """Return the notes of earlier runs, by the file of tests, of files that still exist."""
    reaches = (Reach(**json.loads(note.read_text())) for note in sorted((root / FOLDER).glob("*.json")))
    return {reach.tests: reach for reach in reaches if (root / reach.tests).is_file()}


def pytest_configure(config: pytest.Config) -> None:
    is_of_a_few = bool(config.option.keyword) or any("::" in argument for argument in config.args)
    if sys.version_info >= (3, 12) and not is_of_a_few and sys.monitoring.get_tool(TOOL_ID) is None:
        config.pluginmanager.register(_Recorder(Path(config.rootpath)), NAME)


class _Recorder:
    """Collects while a file of tests runs, and writes when another one begins or all have ended."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._places: dict[str, str] = {}  # of code, by the name of its file
        self._reach: Reach | None = None
        self._seen: set[CodeType] = set()
        self._started_s = 0.0
        self._enough: object = None  # stops Python from reporting a function again

    def pytest_sessionstart(self) -> None:
        if sys.version_info >= (3, 12):
            monitoring = sys.monitoring
            self._enough = monitoring.DISABLE
            monitoring.use_tool_id(TOOL_ID, NAME)
            monitoring.register_callback(TOOL_ID, monitoring.events.PY_START, self._on_start)
            sys.addaudithook(self._on_audit)

    def _on_start(self, code: CodeType, offset: int) -> object:
        self._seen.add(code)
        return self._enough

    def _on_audit(self, event: str, arguments: tuple[object, ...]) -> None:
        if self._reach is not None and event in _PROGRAMS:
            self._reach.starts_programs = True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        tests = os.path.relpath(item.path, self._root)
        if self._reach is None or self._reach.tests != tests:
            self._begin(tests)
        return (yield)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.shouldstop or session.shouldfail:
            self._reach = None  # the file was not run to its end
        self._end()
        if sys.version_info >= (3, 12):
            sys.monitoring.free_tool_id(TOOL_ID)

    def _begin(self, tests: str) -> None:
        self._end()
        self._reach, self._started_s = Reach(tests), time.process_time()
        if sys.version_info >= (3, 12):
            sys.monitoring.set_events(TOOL_ID, sys.monitoring.events.PY_START)
            sys.monitoring.restart_events()

    def _end(self) -> None:
        """Write what the finished file of tests has reached."""
        reach, self._reach = self._reach, None
        if sys.version_info >= (3, 12):
            sys.monitoring.set_events(TOOL_ID, 0)  # first, for what follows is the repository's code, too
        seen, self._seen = self._seen, set()
        if reach is None:
            return
        functions: dict[str, set[str]] = {}
        for code in seen:
            if place := self._place(code.co_filename):
                # A nested function or a comprehension is a part of the function around it.
                functions.setdefault(place, set()).add(code.co_qualname.partition(".<locals>")[0])
        reach.processor_s = round(time.process_time() - self._started_s, 3)
        reach.functions = {place: sorted(names) for place, names in sorted(functions.items()) if place != reach.tests}
        folder = self._root / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        name = reach.tests.replace("/", "+")
        scratch = folder / f"{name}.{os.getpid()}"
        scratch.write_text(json.dumps(asdict(reach)))
        scratch.replace(folder / f"{name}.json")  # whole or not at all, whichever worker is last

    def _place(self, filename: str) -> str:
        """Return where a file is in the repository, without links; "" where it is not the repository's."""
        if filename not in self._places:
            real = os.path.realpath(filename) if os.path.isabs(filename) else ""
            inside = real.startswith(f"{self._root}/") and os.path.isfile(real)
            place = os.path.relpath(real, self._root) if inside else ""
            self._places[filename] = "" if place.startswith(_NOT_OURS) else place
        return self._places[filename]
