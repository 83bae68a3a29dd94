"""The selection of mistakes to plant, and of tests that may notice them.

A point that runs in a function is reached by the tests that run its lines; the recording has them. A point that runs
when its module is imported is reached by the tests that run a line which names what it defines.
"""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from random import Random

from scripts.mutating.points import Point, points
from scripts.mutating.process import ROOT

PLACES = ("storage", "broker/coordinator", "broker/api/handlers", "protocol")
PRODUCT = ("barnabas", "broker", "client", "logfiles", "protocol", "registry", "storage")
ALIKE_MAX = 3
"""So many cases of one parametrized test are tried before other tests."""


@dataclass(frozen=True)
class Mutant:
    """A mistake in a file."""

    file: str
    point: Point
    was: str = ""  # its name before, if it is measured again; lines may have moved

    @property
    def planted(self) -> str:
        """The text that plants it, in the format of `process.PLANTED`."""
        return f"{self.file} {self.point.name}"

    @property
    def name(self) -> str:
        return self.was or self.planted

    @property
    def line(self) -> str:
        """The source line, without the mistake."""
        return (ROOT / self.file).read_text().splitlines()[self.point.line - 1].strip()


def sources(places: Iterable[str]) -> Iterator[str]:
    """Yield the files below some folders, always in the same order."""
    for place in places:
        yield from sorted(str(path.relative_to(ROOT)) for path in (ROOT / place).rglob("*.py") if not path.is_symlink())


def drawn(seed: int, count: int, places: Iterable[str] = PLACES) -> list[Mutant]:
    """Return `count` mutants, each point of `places` as probable as any other."""
    every = [Mutant(file, point) for file in sources(places) for point in points((ROOT / file).read_text())]
    return Random(seed).sample(every, count)


def again(name: str, line: str) -> Mutant | None:
    """Return the present mutant that had this name, and this source line, if there is one."""
    file, place, mistake = name.split(" ", 2)
    if not (ROOT / file).exists():
        return None
    number, column = (int(part) for part in place.partition("-")[0].split(":"))
    same = [
        Mutant(file, point, name)
        for point in points((ROOT / file).read_text())
        if point.mistake == mistake and point.column == column
    ]
    return min(
        (mutant for mutant in same if mutant.line == line), default=None, key=lambda one: abs(one.point.line - number)
    )


def watched(mutants: list[Mutant]) -> dict[str, dict[int, list[int]]]:
    """Return which lines of which files show that a test reaches a mutant: file, line, numbers of mutants."""
    found: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    uses = _Uses()
    for number, mutant in enumerate(mutants):
        for line in mutant.point.reach.lines:
            found[mutant.file][line].append(number)
        for name in mutant.point.reach.names:
            for file, line in uses.of(name):
                if file == mutant.file or not name.startswith("_"):
                    found[file][line].append(number)
    return found


class _Uses:
    """Where names are used within functions of the product."""

    @cached_property
    def _lines(self) -> dict[str, set[tuple[str, int]]]:
        lines: dict[str, set[tuple[str, int]]] = defaultdict(set)
        for file in sources(PRODUCT):
            for function in ast.walk(ast.parse((ROOT / file).read_text())):
                if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                    for node in (each for statement in function.body for each in ast.walk(statement)):
                        if isinstance(node, ast.Name | ast.Attribute):
                            lines[node.id if isinstance(node, ast.Name) else node.attr].add((file, node.lineno))
        return lines

    def of(self, name: str) -> set[tuple[str, int]]:
        return self._lines[name]


class Recorded:
    """The tests that passed, how long each took, and which mutants it reaches."""

    def __init__(self, directory: Path) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        failed = set()
        for line in (directory / "journal").read_text().splitlines():
            report = json.loads(line)
            if "test" in report:
                self.seconds[report["test"]] += report["s"]
                if report["outcome"] != "passed":
                    failed.add(report["test"])
        for test in failed:
            del self.seconds[test]
        self.early: set[int] = set()
        """The mutants that are reached before a test runs: by an import, or by the collection of the tests."""
        self._reached: dict[int, set[str]] = defaultdict(set)
        for line in (directory / "reached").read_text().splitlines():
            number, _, test = line.partition("\t")
            if not test:
                self.early.add(int(number))
            elif test in self.seconds:
                self._reached[int(number)].add(test)

    def chosen(self, number: int, mutant: Mutant, limit_s: float, first: str) -> dict[str, float]:
        """Return tests that reach a mutant, together no longer than `limit_s`, but at least one.

        First comes `first`, if it is one of all; then the nearest and shortest; of many alike most come last.
        """
        reaching = self._reached[number] if self._reached[number] or mutant.point.reach.lines else set(self.seconds)
        distances = {test: _distance(mutant.file, test) for test in reaching}
        ordered = sorted(reaching, key=lambda test: (distances[test], self.seconds[test], test))
        alike: dict[str, int] = defaultdict(int)
        places: dict[str, tuple[bool, bool]] = {}
        for test in ordered:
            function = test.partition("[")[0]
            alike[function] += 1
            places[test] = (test != first, alike[function] > ALIKE_MAX)
        if first in self.seconds:
            places[first] = (False, False)
        taken: dict[str, float] = {}
        left_s = limit_s
        for test in sorted(places, key=places.__getitem__):
            left_s -= self.seconds[test]
            if taken and left_s < 0:
                break
            taken[test] = self.seconds[test]
        return taken


def _distance(file: str, test: str) -> int:
    """Return the distance of a test from the usual place of a file's tests: the same folder below `tests`."""
    source, place = PurePosixPath(file), PurePosixPath(test.partition("::")[0]).relative_to("tests")
    if source.parent == place.parent:
        return 0 if re.match(rf"test_{source.stem}", place.name) else 1
    shared = 0
    for ours, theirs in zip(source.parent.parts, place.parent.parts, strict=False):
        if ours != theirs:
            break
        shared += 1
    return 1 + len(source.parent.parts) + len(place.parent.parts) - 2 * shared
