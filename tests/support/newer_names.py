"""newer_names.py FILE…: names and grammar that the Python which runs this does not have.

A line for each. What only type checkers run (`if TYPE_CHECKING:`) is left out. Nothing of the files is imported.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec


def used(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Every module and name of it that is imported, or read from an imported module; "" is the module itself."""
    modules: dict[str, str] = {}
    for node in _nodes(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                modules[each.asname or each.name] = each.name
                yield each.name, ""
        elif isinstance(node, ast.ImportFrom) and node.module:
            for each in node.names:
                yield node.module, each.name
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            yield modules[node.value.id], node.attr


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """In the order of the text, so that an import comes before what it is used for."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            yield node
            yield from _nodes(node)


NEWER_MODULES = {"annotationlib", "compression", "tomllib"}
"""Of Python 3.11 to 3.14: an older one does not know that they could be its own."""


@cache
def is_missing(module: str, name: str) -> bool:
    """Whether this Python's own library should have it, and has not."""
    if module.partition(".")[0] not in sys.stdlib_module_names | NEWER_MODULES:
        return False
    try:
        found = import_module(module)
    except ModuleNotFoundError:
        return True
    is_package = hasattr(found, "__path__")
    return bool(name) and not hasattr(found, name) and not (is_package and find_spec(f"{module}.{name}"))


def main() -> int:
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as source:
            try:
                tree = ast.parse(source.read(), path)
            except SyntaxError as error:
                print(f"{path}:{error.lineno}: {error.msg}")
                continue
        for module, name in sorted(set(used(tree))):
            if is_missing(module, name):
                print(f"{path}: {module}{name and '.'}{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
