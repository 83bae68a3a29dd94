"""Planting a bug: a module of the broker, or of the Spark sink, is imported with a few lines of it changed.

Nothing is written: the change lives in the process that asked for it, which must not have imported the module before.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType, ModuleType

from tests.support.source_tree import ROOT


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of one file: `old`, which is there once, becomes `new`."""

    file: str
    old: str
    new: str

    @property
    def module(self) -> str:
        """The name that the file is imported by."""
        name = self.file.removesuffix(".py").replace("/", ".")
        return name if name.startswith("pyspark_barnabas.") else f"barnabas.{name}"

    def applied(self, source: str | None = None) -> str:
        """The file's source with the change, on top of others if they are given. ValueError if it cannot be made."""
        source = source or (ROOT / self.file).read_text()
        if source.count(self.old) != 1:
            raise ValueError(f"{self.file} has these lines {source.count(self.old)} times: {self.old!r}")
        return source.replace(self.old, self.new)


@dataclass(frozen=True, slots=True)
class Bug:
    """A bug that somebody might have made."""

    name: str
    says: str
    """What is wrong then."""
    edits: tuple[Edit, ...]
    seeds: int = 100
    """Within how many seeds it has to be found."""
    is_missed: bool = False
    """Whether it is not found yet: docs/testing-barnabas.md names those, and why."""
    needs: str = ""
    """A field of the plan that must not be 0: other seeds count, and are not run."""


def bug(
    name: str,
    says: str,
    file: str,
    old: str,
    new: str,
    *,
    seeds: int = 100,
    is_missed: bool = False,
    needs: str = "",
) -> Bug:
    """One of a single change."""
    return Bug(name, says, (Edit(file, old, new),), seeds, is_missed, needs)


def plant(bug: Bug) -> None:
    """Have it in this process, from the next import on."""
    modules: dict[str, list[Edit]] = {}
    for edit in bug.edits:
        modules.setdefault(edit.module, []).append(edit)
    early = [name for name in modules if name in sys.modules]
    assert not early, f"{early} were imported already"
    sys.meta_path.insert(0, _Finder(modules))


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, edits: dict[str, list[Edit]]) -> None:
        self._edits = edits

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        edits = self._edits.get(fullname)
        if edits is None:
            return None
        file = str(ROOT / edits[0].file)
        return importlib.util.spec_from_file_location(fullname, file, loader=_Loader(fullname, file, edits))


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, fullname: str, path: str, edits: list[Edit]) -> None:
        super().__init__(fullname, path)
        self._edits = edits

    def get_code(self, fullname: str) -> CodeType:
        source = None
        for edit in self._edits:
            source = edit.applied(source)
        assert source is not None
        return compile(source, self.path, "exec", dont_inherit=True)
