"""The rooms of the tree: few enough entries in each to be seen at a glance, and no imports in a circle between them.

An import counts wherever it stands: at the top of a module, inside a function, where only the type checker looks.
`.importlinter` says in which order the rooms are; here is what holds in every folder.
"""

from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.support import source_tree as tree

BESIDE = ("pyspark_barnabas", "pipeline", "bench", "scripts")
FILES = tree.python_files(*tree.PRODUCT, *BESIDE)
ENTRIES_MAX = 15
ONE_EACH = {
    "broker/api/handlers": "API",
    "protocol/messages": "API",
    "broker/http/console/templates": "page",
}
"""Folders with a file for each of something."""
# Every package has an `__init__.py`: it describes the package, and a reader never has to choose it.
NOT_COUNTED = {"__init__.py", "__main__.py", "__pycache__"}


def _name(path: Path) -> str:
    parts = [part for part in path.with_suffix("").parts if part != "__init__"]
    return ".".join(parts if parts[0] in ("barnabas", *BESIDE) else ["barnabas", *parts])


MODULES = {_name(path) for path in FILES}


def _imports(path: Path) -> set[str]:
    """The modules of the project that a file imports."""
    named = tree.imported_names(path).values()
    found = {name if name in MODULES else name.rpartition(".")[0] for name in named}
    return (found & MODULES) - {_name(path)}


IMPORTS = {_name(path): _imports(path) for path in FILES}


def between_entries(imports: dict[str, set[str]]) -> dict[str, dict[str, set[str]]]:
    """Which entries of a package import which others, by the package's name."""
    graphs: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for one, others in imports.items():
        for other in others:
            mine, its = one.split("."), other.split(".")
            level = next((n for n, (a, b) in enumerate(zip(mine, its, strict=False)) if a != b), None)
            if level is not None:  # else one is the package of the other
                graphs[".".join(mine[:level])][mine[level]].add(its[level])
    return graphs


def circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """A circle of each package whose entries import each other in circles."""
    found = []
    for package, graph in between_entries(imports).items():
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            found.append([package, *error.args[1]])
    return found


def test_no_imports_go_in_a_circle_between_the_entries_of_any_folder() -> None:
    assert circles(IMPORTS) == []


def test_a_circle_of_three_rooms_is_seen_though_no_two_import_each_other() -> None:
    imports = {"b.x.one": {"b.y.one"}, "b.y.two": {"b.z"}, "b.z": {"b.x.two"}, "b.x.two": {"b.x.one"}}
    assert [sorted(circle[1:-1]) for circle in circles(imports)] == [["x", "y", "z"]]


@pytest.mark.parametrize("folder", sorted({str(path.parent) for path in FILES}))
def test_a_folder_has_few_entries(folder: str) -> None:
    entries = {path.name for path in Path(folder).iterdir() if path.suffix == ".py" or _has_files(path)} - NOT_COUNTED
    assert len(entries) <= ENTRIES_MAX or folder in ONE_EACH, sorted(entries)


def _has_files(folder: Path) -> bool:
    return any(path.is_file() and path.parent.name != "__pycache__" for path in folder.rglob("*"))
