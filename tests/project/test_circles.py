"""No two modules import each other, not even where only the type checker looks: what both need goes below both.

The contracts in pyproject.toml know layers; two modules of one layer may still hold on to each other.
"""

from pathlib import Path

from tests.support import source_tree as tree

FILES = tree.python_files(*tree.PRODUCT, "pyspark_barnabas", "pipeline")


def test_no_two_modules_import_each_other() -> None:
    imports = {_name(path): _imports(path) for path in FILES}
    circles = [(one, other) for one, others in imports.items() for other in others if one in imports[other]]
    assert circles == []


def _name(path: Path) -> str:
    parts = [part for part in path.with_suffix("").parts if part != "__init__"]
    outside = ("barnabas", "pyspark_barnabas", "pipeline")
    return ".".join(parts if parts[0] in outside else ["barnabas", *parts])


MODULES = {_name(path) for path in FILES}


def _imports(path: Path) -> set[str]:
    """The modules of the project that a file imports, at its top, under TYPE_CHECKING or inside a function."""
    named = tree.imported_names(path).values()
    found = {name if name in MODULES else name.rpartition(".")[0] for name in named}
    return (found & MODULES) - {_name(path)}
