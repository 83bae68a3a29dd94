"""The changes since a revision: which files, and in Python files which functions and names.

A comment, a docstring and the layout of the code change nothing. Code inside a function changes that function; all
other code (constants, decorators, attributes of a class, imports) runs when the module is imported, and changes the
module.
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Change:
    """A file that has changed."""

    path: str  # relative to the checkout, without links
    functions: frozenset[str] = frozenset()  # qualified names of those whose text or arguments differ, or that are gone
    added: frozenset[str] = frozenset()  # of new ones
    names: frozenset[str] = frozenset()  # that the module or a class of it binds otherwise than before
    is_module_changed: bool = False  # whether what runs at its import has changed, or it is new or gone
    is_gone: bool = False


def changes(root: Path, revision: str | None) -> tuple[Change, ...]:
    """Return what differs between `revision`, by default HEAD, and the checkout, where untracked files are new."""
    since = revision or "HEAD"
    listed = _git(root, "diff", "--name-only", "--no-renames", "-z", since, "--").split("\0")
    untracked = _git(root, "ls-files", "--others", "--exclude-standard", "-z").split("\0")
    paths = sorted({path for path in (*listed, *untracked) if path})
    found = (_change(root, path, _old_text(root, since, path)) for path in paths)
    return tuple(change for change in found if change is not None)


def tracked_files(root: Path) -> list[str]:
    """Return the files that git tracks in the checkout, or would track."""
    listed = _git(root, "ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0")
    return sorted({path for path in listed if path and not (root / path).is_symlink() and (root / path).is_file()})


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout


def _old_text(root: Path, revision: str, path: str) -> str | None:
    """Return the old text of the file, or None where it did not exist."""
    command = ["git", "show", f"{revision}:{path}"]
    shown = subprocess.run(command, cwd=root, capture_output=True, check=False)
    return shown.stdout.decode(errors="replace") if shown.returncode == 0 else None


def _change(root: Path, path: str, old: str | None) -> Change | None:
    file = root / path
    is_gone = not file.is_file()
    if not path.endswith(".py"):
        return Change(path, is_gone=is_gone)
    if is_gone or old is None:
        return Change(path, is_module_changed=True, is_gone=is_gone)
    try:
        return python_change(path, old, file.read_text(encoding="utf-8"))
    except SyntaxError:
        return Change(path, is_module_changed=True)


def python_change(path: str, old: str, new: str) -> Change | None:
    """Return what differs between two texts of a module, or None where they do the same."""
    before, after = _Module(old), _Module(new)
    common = before.functions.keys() & after.functions.keys()
    differing = {name for name in common if before.functions[name] != after.functions[name]}
    gone = before.functions.keys() - after.functions.keys()
    added = after.functions.keys() - before.functions.keys()
    rest = {dump for dump, _ in before.rest ^ after.rest}
    names = {name for _, bound in before.rest ^ after.rest for name in bound}
    if not (differing or gone or added or rest or before.order != after.order):
        return None
    is_module_changed = bool(rest) or (not (differing or gone or added) and before.order != after.order)
    return Change(path, frozenset(differing | gone), frozenset(added), frozenset(names), is_module_changed)


class _Module:
    """A module's functions, and the statements beside them, in a form that can be compared."""

    def __init__(self, text: str) -> None:
        self.functions: dict[str, str] = {}
        self.rest: set[tuple[str, frozenset[str]]] = set()
        self.order: list[str] = []
        self._read(ast.parse(text).body, "")

    def _read(self, body: list[ast.stmt], prefix: str) -> None:
        for statement in _without_docstring(body):
            if isinstance(statement, Function):
                name = prefix + statement.name
                decorators = "".join(map(ast.dump, statement.decorator_list))
                statement.decorator_list = []
                for inner in ast.walk(statement):
                    if isinstance(inner, Function | ast.ClassDef):
                        inner.body = _without_docstring(inner.body) or [ast.Pass()]
                # Two of one name: a property and its setter, or overloads.
                self.functions[name] = self.functions.get(name, "") + ast.dump(statement)
                if decorators:
                    self.rest.add((f"{name}{decorators}", frozenset({statement.name})))
            elif isinstance(statement, ast.ClassDef):
                name = prefix + statement.name
                head = (*statement.bases, *statement.keywords, *statement.decorator_list)
                self.rest.add((f"{name}{''.join(map(ast.dump, head))}", frozenset({statement.name})))
                self._read(statement.body, f"{name}.")
            else:
                dump = prefix + ast.dump(statement)
                self.rest.add((dump, frozenset(_bound(statement))))
                self.order.append(dump)


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    """Leave out every statement that is a string alone: docstrings, of attributes too."""
    return [
        each
        for each in body
        if not (
            isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) and isinstance(each.value.value, str)
        )
    ]


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement binds, except for imports, which other modules do not import from it."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
