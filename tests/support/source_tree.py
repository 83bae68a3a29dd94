"""The repository's own files, as the tidiness checks see them: what git tracks or would track, parsed once."""

import ast
import functools
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("protocol", "logfiles", "registry", "storage", "broker", "client", "barnabas")


@functools.cache
def tracked_files() -> tuple[Path, ...]:
    """Every file of the checkout that is not ignored, relative to its root."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return tuple(path for path in sorted({Path(line) for line in listed}) if (ROOT / path).is_file())


def python_files(*tops: str) -> list[Path]:
    """The Python files under the top-level directories `tops`; all of them when none is named."""
    return [path for path in tracked_files() if path.suffix == ".py" and (not tops or path.parts[0] in tops)]


@functools.cache
def text(path: Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@functools.cache
def syntax(path: Path) -> ast.Module:
    return ast.parse(text(path), filename=str(path))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(syntax(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def imported_names(path: Path) -> dict[str, str]:
    """What each name that `path` imports stands for: {"sleep": "time.sleep", "dt": "datetime"}."""
    names: dict[str, str] = {}
    for node in ast.walk(syntax(path)):
        if isinstance(node, ast.Import):
            names |= {alias.asname or alias.name.partition(".")[0]: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return names


def calls(path: Path) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of every call whose callee can be named: `from time import sleep; sleep(1)` is time.sleep."""
    names = imported_names(path)
    for node in ast.walk(syntax(path)):
        if isinstance(node, ast.Call) and (callee := _dotted(node.func)):
            first, _, rest = callee.partition(".")
            yield node.lineno, ".".join(filter(None, (names.get(first, first), rest)))


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (owner := _dotted(node.value)):
        return f"{owner}.{node.attr}"
    return ""
