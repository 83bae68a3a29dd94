"""The tests that reach a change: scripts/test --changed.

Tests that have changed run. For other code, as many of the fast tests run as fit into BUDGET_S of processor time, the
likeliest first (scripts/testing/ranking.py). Tests that are left out are named: this is for the minutes between two
edits, and does not replace scripts/test before a commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from scripts.testing import reached
from scripts.testing.changes import Change, changes, tracked_files
from scripts.testing.groups import CHANGED, FAST, GROUPS, PURE, Group
from scripts.testing.ranking import Ranked, Ranking, is_test
from scripts.testing.reached import Reach

NAME = CHANGED
BUDGET_S = 100.0  # of processor time of its tests: two processors, and two minutes with all that is around them
SECONDS_A_LINE = 0.004  # the time of fast tests, where it was not noted
WORKERS = 2
NEAR = 50.0  # the score from which a file of tests of another group runs for a file of its own folder
TIDINESS = tuple(f"tests/project/test_{name}.py" for name in ("docs", "seams", "tidy"))  # rules for every file: seconds
SELECTED = (*FAST, "tests/project")

# What runs for changed files that no test names, or that affect more than the tests that do, by the path's beginning.
TABLE: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("pyproject.toml", ("check",)),
    ("requirements/", ("check",)),
    ("Dockerfile", ("container",)),
    (".dockerignore", ("container",)),
    ("docker/", ("container",)),
)


@dataclass(frozen=True)
class Selection:
    """The tests that run for a change, and those that do not."""

    changed: tuple[Change, ...]
    paths: tuple[str, ...]  # of fast tests, for pytest in the environment .venv
    parts: Mapping[str, tuple[str, ...]]  # files of tests of other groups, by group
    groups: tuple[str, ...]  # that run whole
    reasons: Mapping[str, str]  # why, by path or group
    left_out: Mapping[str, str]  # why not, by group, or by a part of the fast tests

    def to_run(self, groups: Iterable[Group] = GROUPS) -> list[Group]:
        """Return what runs as groups; the fast tests are the group `NAME`."""
        by_name = {group.name: group for group in reversed(tuple(groups))}  # of two forms the first
        chosen = [by_name[name] for name in self.groups]
        chosen += [replace(by_name[name], paths=paths, is_measured=False) for name, paths in self.parts.items()]
        if not self.paths:
            return chosen
        workers = WORKERS if len(self.paths) > 1 else 0
        fast = Group(NAME, 3 * BUDGET_S, self.paths, form=PURE, workers=workers, by_file=workers > 1, places=WORKERS)
        return [fast, *chosen]

    def describe(self) -> list[str]:
        """Return the lines about what runs and what does not, and why."""
        lines = [f"changed: {change.path}" for change in self.changed] or ["nothing has changed"]
        lines += [f"runs {what}: {why}" for what, why in self.reasons.items()]
        return lines + [f"leaves out {what}: {why}" for what, why in self.left_out.items()]


def select(root: Path, revision: str | None) -> Selection:
    """Return what to run for what differs between `revision`, by default HEAD, and the checkout at `root`."""
    files = tracked_files(root)
    texts = {path: (root / path).read_text(encoding="utf-8") for path in files if path.endswith(".py")}
    return choose(changes(root, revision), texts, reached.recorded(root), GROUPS)


def choose(
    changed: tuple[Change, ...], texts: Mapping[str, str], notes: Mapping[str, Reach], groups: Sequence[Group] = GROUPS
) -> Selection:
    """Decide for the `changed` files, from the Python files' texts and the notes of earlier runs."""
    ranking, choice = Ranking(texts, notes), _Choice(texts, notes, groups)
    for change in changed:
        if is_test(change.path) and not change.is_gone:
            choice.take(change.path, "changed")
    others = [change for change in changed if not is_test(change.path)]
    found = [ranking.of(change) for change in others]
    for change, tests in zip(others, found, strict=True):
        choice.ask_table(change, tests)
    for turn in zip_longest(*found):  # every change has its likeliest tests before any has its next
        for change, ranked in zip(others, turn, strict=True):
            if ranked is not None:
                choice.offer(change, ranked)
    return choice.selection(changed)


class _Choice:
    """The tests taken so far, how long they run, and the tests not taken."""

    def __init__(self, texts: Mapping[str, str], notes: Mapping[str, Reach], groups: Sequence[Group]) -> None:
        self._texts = texts
        self._notes = notes
        self._groups = groups
        self._reasons: dict[str, str] = {}
        self._paths: list[str] = []
        self._parts: dict[str, list[str]] = {}
        self._whole: dict[str, str] = {}
        self._seconds = 0.0
        self._late: set[str] = set()  # fast tests for which there was no time
        self._elsewhere: dict[str, set[str]] = {}  # tests of other groups that may reach what has changed

    def take(self, tests: str, reason: str) -> None:
        """Add `tests` to the run."""
        if tests in self._reasons:
            return
        self._reasons[tests] = reason
        if (owner := self._owner(tests)) == NAME:
            self._paths.append(tests)
            self._seconds += self._cost(tests)
        else:
            self._parts.setdefault(owner, []).append(tests)

    def ask_table(self, change: Change, tests: Sequence[Ranked]) -> None:
        """Take what a change requires beside the tests that were found for it."""
        for name in (name for start, names in TABLE if change.path.startswith(start) for name in names):
            self._whole[name] = f"for {change.path}"
        owner = self._owner(change.path) if change.path.startswith("tests/") else ""
        if owner and owner != NAME and not any(self._owner(each.tests) == owner for each in tests):
            self._whole[owner] = f"for {change.path}, which none of its tests names"
        if not change.path.endswith(".py") or change.path.startswith("scripts/"):
            for rules in TIDINESS:
                self.take(rules, "holds every file to its rules")

    def offer(self, change: Change, ranked: Ranked) -> None:
        """Take a file of tests where there is time for it, and where its group needs nothing that others do not."""
        tests = ranked.tests
        if tests in self._reasons:
            return
        owner = self._owner(tests)
        if owner == NAME:
            if self._seconds + self._cost(tests) <= BUDGET_S:
                self.take(tests, ranked.reason)
            else:
                self._late.add(tests)
        elif self._is_of_tests(change.path, owner) and ranked.score >= NEAR:
            self.take(tests, ranked.reason)
        else:
            self._elsewhere.setdefault(owner, set()).add(tests)

    def _is_of_tests(self, path: str, owner: str) -> bool:
        """Return whether a file belongs to the tests of a group, so that they come first when it has changed."""
        is_golden = path.startswith("tests/golden/") and not any(
            group.programs for group in self._groups if group.name == owner
        )
        return is_golden or (path.startswith("tests/") and self._owner(path) == owner)

    def _owner(self, path: str) -> str:
        """Return the name of the group that runs a path; "" for a path in no group's folder."""
        if path.startswith(tuple(f"{folder}/" for folder in SELECTED)) or path in SELECTED:
            return NAME
        owners = (group.name for group in self._groups if any(path.startswith(f"{each}/") for each in group.paths))
        return next(owners, "")

    def _cost(self, tests: str) -> float:
        if (noted := self._notes.get(tests)) is not None:
            return noted.processor_s
        return len(self._texts.get(tests, "").splitlines()) * SECONDS_A_LINE

    def selection(self, changed: tuple[Change, ...]) -> Selection:
        parts = {name: tuple(paths) for name, paths in self._parts.items() if name not in self._whole}
        reasons = self._reasons | self._whole
        paths = tuple(self._paths)  # the likeliest first
        left_out = {}
        for group in self._groups:
            if group.name not in self._whole and not group.is_left_out:
                left_out[group.name] = self._why_not(group)
        return Selection(changed, paths, parts, tuple(self._whole), reasons, left_out)

    def _why_not(self, group: Group) -> str:
        time = f"takes {group.budget_s / 60:.1f} minutes of processor time"
        if group.command:
            return f"reads the whole tree; {time}"
        if group.is_measured and self._late:
            return f"{len(self._late)} more of its files may reach what has changed; {time}"
        if self._owner(f"{group.paths[0]}/") == NAME:
            return (
                f"the same tests on another Python or form; {time}" if not group.is_measured else "nothing else of it"
            )
        if group.name in self._parts:
            return f"but for what runs of it, {time}"
        found = len(self._elsewhere.get(group.name, ()))
        why = f"{found} of its files of tests import what has changed" if found else "its tests import nothing of it"
        return f"{why}, the brokers that it starts may; {time}"
