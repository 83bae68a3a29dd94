"""Planting a bug: a module of the broker, or of the Spark sink, is imported with a statement of it changed.

Nothing is written, no bytecode either: the change lives in the process that asked for it, which must not have imported
the module before.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import CodeType, ModuleType

from tests.simulation.planted.places import Edit, Source, changed, product


@dataclass(frozen=True, slots=True)
class Bug:
    """A plausible bug."""

    name: str
    says: str
    """Its effect, in a sentence."""
    seeds: int = 100
    """Within how many seeds it has to be found."""
    is_missed: bool = False
    """Whether it is not found yet: docs/testing-barnabas.md names those, and why."""
    needs: str = ""
    """A field of the plan that must not be 0: other seeds count, and are not run."""
    edits: tuple[Edit, ...] = ()

    def at(self, anchor: str, old: str, new: str = "") -> Bug:
        """The bug with this change: `old`, in what has the qualified name `anchor`, becomes `new`. See Edit."""
        return replace(self, edits=(*self.edits, Edit(anchor, old, new)))

    def modules(self, within: tuple[Source, ...] | None = None) -> dict[Source, ast.Module]:
        """What it makes of the modules that it changes. LookupError if it does not fit what is there."""
        try:
            return changed(self.edits, within or product())
        except LookupError as error:
            raise LookupError(f"the planted bug {self.name!r} does not fit: {error}") from error


def plant(bug: Bug, within: tuple[Source, ...] | None = None) -> None:
    """Have it in this process, from the next import on."""
    modules = {source.name: (source, tree) for source, tree in bug.modules(within).items()}
    early = [name for name in modules if name in sys.modules]
    assert not early, f"{early} were imported already"
    sys.meta_path.insert(0, _Finder(modules))


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, modules: dict[str, tuple[Source, ast.Module]]) -> None:
        self._modules = modules

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self._modules:
            return None
        source, tree = self._modules[fullname]
        loader = _Loader(fullname, str(source.path), tree)
        return importlib.util.spec_from_file_location(fullname, source.path, loader=loader)


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, fullname: str, path: str, tree: ast.Module) -> None:
        super().__init__(fullname, path)
        self._tree = tree

    def get_code(self, fullname: str) -> CodeType:
        code = compile(self._tree, self.path, "exec", dont_inherit=True)
        assert isinstance(code, CodeType)
        return code
