"""Ranks files of tests by how likely they are to show a changed behaviour of a changed file.

Notes of earlier runs (scripts/testing/reached.py) decide where there are some: a file that reached none of the changed
functions shows nothing of them. Where there are none, imports do, which reach almost every test through the shared
worlds of tests; so the order counts: a test that mirrors the changed file, that imports it, that names what has
changed, and then by how many imports lie between.

Knows no git and no groups. It does not decide whether a file of tests may run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from scripts.testing.changes import Change
from scripts.testing.import_graph import ImportGraph
from scripts.testing.reached import Reach

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Ranked:
    """A file of tests that may show a change: the higher the score, the more likely."""

    tests: str
    score: float
    reason: str


def is_test(path: str) -> bool:
    """Return whether a file has tests that pytest collects."""
    name = PurePosixPath(path).name
    return path.startswith("tests/") and name.startswith("test_") and name.endswith(".py")


class Ranking:
    """The repository's Python files by path, and the notes of earlier runs."""

    def __init__(self, texts: Mapping[str, str], notes: Mapping[str, Reach]) -> None:
        self._texts = texts
        self._notes = notes
        self._tests = [path for path in texts if is_test(path)]
        self._graph = ImportGraph(texts)

    def of(self, change: Change) -> list[Ranked]:
        """Return the files of tests that may show `change`, the likeliest first."""
        found = self._readers(change) if not change.path.endswith(".py") else self._reaching(change)
        return sorted(found, key=lambda each: (-each.score, each.tests))

    def _reaching(self, change: Change) -> Iterable[Ranked]:
        distances = self._graph.distances(change.path)
        named = _Named(change, self._words)
        for tests in self._tests:
            distance = distances.get(tests)
            noted = self._notes.get(tests)
            near, why = _nearness(change.path, tests, distance)
            named_score, name = named.score(tests)
            score = near + named_score
            if noted is not None:
                depth = _reached(change, noted)
                if depth or distance == 1:
                    # What reaches little besides is a test of this.
                    specific = 40 / (1 + sum(map(len, noted.functions.values())) / 200)
                    yield Ranked(tests, score + depth + specific, "reaches what changed, as noted" if depth else why)
                elif noted.starts_programs and distance is not None:
                    yield Ranked(tests, score - 100, "starts programs, which may reach it")
            elif distance is not None or near or _mentions(self._texts[tests], change.path):
                yield Ranked(tests, score, f"names {name}" if named_score > near else why)

    def _readers(self, change: Change) -> Iterable[Ranked]:
        """Yield the tests that name a file which is not Python's, or that import a file which names it."""
        naming = {path for path, text in self._texts.items() if _mentions(text, change.path)}
        readers: dict[str, int] = {}
        for path in naming:
            for importer, distance in self._graph.distances(path).items():
                if is_test(importer) and distance <= 1:
                    readers[importer] = min(distance, readers.get(importer, distance))
        for tests, distance in readers.items():
            yield Ranked(tests, 100 - 30 * distance, f"reads {change.path}")

    @cached_property
    def _words(self) -> dict[str, frozenset[str]]:
        return {tests: frozenset(_WORD.findall(self._texts[tests])) for tests in self._tests}


class _Named:
    """The occurrences of a change's names in tests. A name in half of the tests counts little."""

    def __init__(self, change: Change, words: Mapping[str, frozenset[str]]) -> None:
        parts = {part for name in (*change.functions, *change.added) for part in name.split(".")} | change.names
        names = {part for part in parts if not (part.startswith("__") and part.endswith("__"))}
        self._found: dict[str, tuple[float, str]] = {}
        for name in sorted(names):
            self._count({tests for tests, there in words.items() if name in there}, len(words), 45, name)
        path = PurePosixPath(change.path)
        stem = (path.parent.name if path.stem == "__init__" else path.stem).replace("_", "")
        about = {tests for tests, there in words.items() if any(_is_about(word, stem) for word in there)}
        self._count(about, len(words), 35, stem)

    def _count(self, tests: set[str], total: int, weight: float, name: str) -> None:
        rarity = max(0.0, 1 - len(tests) / total * 4) if total else 0.0
        for each in tests:
            score, best = self._found.get(each, (0.0, name))
            self._found[each] = (score + weight * rarity, best if score else name)

    def score(self, tests: str) -> tuple[float, str]:
        return self._found.get(tests, (0.0, ""))


def _is_about(word: str, stem: str) -> bool:
    """Return whether a word is the name of a module, or begins so: EndTxnRequest for end_txn."""
    return len(word) >= len(stem) and word.replace("_", "").lower().startswith(stem)


def _nearness(path: str, tests: str, distance: int | None) -> tuple[float, str]:
    """Return how near tests lie to a file, in folders and in imports, and why."""
    changed, test = PurePosixPath(path), PurePosixPath(tests)
    folders = changed.parts[:-1] if changed.parts[0] != "tests" else changed.parts[1:-1]
    mirrored = test.parts[1:-1]
    shared = 0
    while shared < min(len(folders), len(mirrored)) and folders[shared] == mirrored[shared]:
        shared += 1
    score, why = 4.0 * shared, "imports it, over others" if distance is not None else "lies beside it"
    if distance is not None:
        score += 30 / max(1, distance)
    elif shared < len(folders) or not folders:
        return 0.0, ""  # no import, and another folder
    if distance == 1:
        score, why = score + 30, "imports it"
    stem = changed.parent.name if changed.stem == "__init__" else changed.stem
    if shared and test.stem.removeprefix("test_").startswith(stem):
        score, why = score + 60, "mirrors it"
    return score, why


def _reached(change: Change, noted: Reach) -> float:
    """Return how much of a change a file of tests has reached: 0 for nothing."""
    there = noted.functions.get(change.path)
    if there is None:
        return 0.0
    if change.functions.intersection(there):
        return 60.0
    classes = {name.rpartition(".")[0] for name in change.added} - {""}
    if change.is_module_changed or any(name.rpartition(".")[0] in classes for name in there):
        return 30.0
    return 30.0 if change.added and not change.functions and not classes else 0.0


def _mentions(text: str, path: str) -> bool:
    """Return whether a text names a file: by its name, or as stories, Java classes and Go programs are named."""
    place = PurePosixPath(path)
    if path.startswith("tests/golden/"):
        folder = place.parts[2]
        return f'"golden" / "{folder}"' in text or f"tests/golden/{folder}/" in text
    names = {place.name}
    if place.suffix == ".java":
        names.add(f'"{place.stem}"')
    if place.suffix == ".go":
        names.add(f'"{place.parent.name}"')
    return any(name in text for name in names if name != "__init__.py")
