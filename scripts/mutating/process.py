"""The part of mutation testing in a process that runs tests, or that a test started: plant a mistake, or note which
points it reaches.

The environment selects one of the two. Nothing of the checkout changes: a mistake exists in the process only.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from scripts.mutating.points import mutated

ROOT = Path(__file__).resolve().parents[2]
PLANTED = "BARNABAS_MUTANT"
"""A file and a point in it, as `storage/log/roll.py 12:4-9 left out`."""
RECORDED = "BARNABAS_MUTANTS_REACHED"
"""The directory with `watched.json`, where `reached` gets a line for each test, "" before the first one, and point."""
_monitoring: Any = getattr(sys, "monitoring", None)  # of Python 3.12 and later
_TOOL = 4  # one of those that sys.monitoring leaves free


def begin() -> None:
    """Do what the environment selects."""
    if PLANTED in os.environ:
        file, _, point = os.environ[PLANTED].partition(" ")
        sys.meta_path.insert(0, _Planting(file, point))
    if RECORDED in os.environ:
        _Recording(Path(os.environ[RECORDED])).begin()


def put_first() -> None:
    """Put our finder before all other finders of modules, such as pytest's, which rewrites assertions."""
    sys.meta_path.sort(key=lambda finder: not isinstance(finder, _Planting))


def begin_test() -> None:
    """Note again what was reached before."""
    if RECORDED in os.environ:
        _monitoring.restart_events()


class _Planting(importlib.abc.MetaPathFinder):
    def __init__(self, file: str, point: str) -> None:
        self._file = file
        self._point = point
        self._module = "barnabas." + file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None:
            spec.loader = _Loader(fullname, str(ROOT / self._file), self._point)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, fullname: str, path: str, point: str) -> None:
        super().__init__(fullname, path)
        self._point = point

    def get_code(self, fullname: str) -> CodeType:
        tree = mutated(Path(self.path).read_text(), self._point)
        return compile(tree, self.path, "exec", dont_inherit=True)


class _Recording:
    """Watches lines in functions that have a watched one; each is noted once in a test."""

    def __init__(self, directory: Path) -> None:
        watched: dict[str, dict[str, list[int]]] = json.loads((directory / "watched.json").read_text())
        self._points = {
            str(ROOT / "barnabas" / file): {int(line): numbers for line, numbers in lines.items()}
            for file, lines in watched.items()
        }
        self._file = os.open(directory / "reached", os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def begin(self) -> None:
        _monitoring.use_tool_id(_TOOL, "mutants")
        _monitoring.register_callback(_TOOL, _monitoring.events.PY_START, self._function)
        _monitoring.register_callback(_TOOL, _monitoring.events.LINE, self._line)
        _monitoring.set_events(_TOOL, _monitoring.events.PY_START)

    def _function(self, code: CodeType, offset: int) -> object:
        points = self._points.get(code.co_filename)
        if points and any(line in points for _, _, line in code.co_lines()):
            _monitoring.set_local_events(_TOOL, code, _monitoring.events.LINE)
        return _monitoring.DISABLE

    def _line(self, code: CodeType, line: int) -> object:
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
        points = self._points[code.co_filename].get(line, ())
        if points:
            os.write(self._file, "".join(f"{point}\t{test}\n" for point in points).encode())
        return _monitoring.DISABLE
