"""Rules for every file of the repository, checked on its syntax. A finding names the place and what to do instead.

Here is only what ruff does not see: D100 passes over modules with an underscore, PLR0915 counts statements, FIX reads
comments, PGH asks for no reason, and S110 and BLE001 find neither `suppress` nor the reason beside it, but every error
that is stored for another caller. Banned calls are in pyproject.toml, and in test_seams.py where some places may.
"""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pytest

from tests.support import source_tree as tree

MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 70

UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError)\b")
DESCRIPTORS_CAPTURED = re.compile(r"\bcapfd")
BARE_IGNORE = re.compile(
    r"# type: ignore(?!\[[\w, -]+\]\s+# \w)|# noqa(?!: [A-Z]+\d+(, [A-Z]+\d+)*\s+(# )?[\w(])"
    r"|# pragma: no cover(?!\s+# \w)|# nosec(?! B\d+ - \w)|# fmt: skip(?!\s+# \w)"
)

FILES = tree.python_files()


def test_a_module_says_what_it_is() -> None:
    others = [path for path in FILES if not path.name.startswith("test_") and tree.text(path).strip()]
    assert [str(path) for path in others if not ast.get_docstring(tree.syntax(path))] == []


def test_a_file_is_not_too_long() -> None:
    assert [str(path) for path in FILES if len(tree.text(path).splitlines()) > MAX_FILE_LINES] == []


def test_a_function_is_not_too_long() -> None:
    too_long = [
        f"{path}:{function.lineno} {function.name}"
        for path in FILES
        for function in tree.functions(path)
        if function.end_lineno and function.end_lineno - function.lineno >= MAX_FUNCTION_LINES
    ]
    assert not too_long


def test_a_peers_address_is_asked_for_where_it_is_normalised() -> None:
    asking = [str(path) for path in FILES if path.parts[0] == "broker" and '"peername"' in tree.text(path)]
    assert asking == ["broker/network/advertised_address.py"], "use peer_of: rights and limits know IPv4 as IPv4"


def test_nothing_is_left_unfinished() -> None:
    assert [where for where, line in _lines() if UNFINISHED.search(line)] == []


def test_output_is_captured_without_that_of_c_libraries() -> None:
    of_the_process = [where for where, line in _lines() if DESCRIPTORS_CAPTURED.search(line)]
    assert of_the_process == [], "use capsys: librdkafka's threads write to the process's own stderr at any time"


def test_an_ignore_gives_its_reason() -> None:
    assert [where for where, line in _lines() if BARE_IGNORE.search(line)] == []


def test_an_error_is_ignored_for_a_reason_that_is_written_there() -> None:
    found = [f"{path}:{node.lineno}" for path, node in _ignoring() if not _has_comment(path, node)]
    assert not found, "say in a comment there why nothing has to be done"


def test_no_program_error_is_ignored() -> None:
    found = [f"{path}:{node.lineno}" for path, node in _ignoring() if _hides_bugs(node)]
    assert not found, "name the errors that may be ignored: Exception has all mistakes of programs, too"


@pytest.mark.parametrize(
    "code",
    [
        "try:\n    f()\nexcept OSError:\n    pass",
        "for i in j:\n    try:\n        f()\n    except OSError:\n        continue",
        "with suppress(OSError):\n    f()",
        "with open(p) as file, contextlib.suppress(OSError, KeyError):\n    f()",
    ],
)
def test_an_ignored_error_is_seen(code: str) -> None:
    [ignoring] = [node for node in ast.walk(ast.parse(code)) if _ignores_an_error(node)]
    assert _ignores_an_error(ignoring)
    assert not _hides_bugs(ignoring)
    broad = ast.parse(code.replace("OSError", "Exception"))
    assert [_hides_bugs(node) for node in ast.walk(broad) if _ignores_an_error(node)] == [True]


def _lines() -> Iterator[tuple[str, str]]:
    """(place, line) of every line but this file's own, which has to name what it looks for."""
    for path in FILES:
        if path != Path("tests/project/test_tidy.py"):
            for number, line in enumerate(tree.text(path).splitlines(), start=1):
                yield f"{path}:{number}", line


def _ignores_an_error(node: ast.AST) -> TypeGuard[ast.ExceptHandler | ast.With]:
    if isinstance(node, ast.ExceptHandler):
        return all(isinstance(statement, ast.Pass | ast.Continue) or _is_ellipsis(statement) for statement in node.body)
    return isinstance(node, ast.With) and any(_suppressed(node))


@functools.cache
def _ignoring() -> list[tuple[Path, ast.ExceptHandler | ast.With]]:
    return [(path, node) for path in FILES for node in ast.walk(tree.syntax(path)) if _ignores_an_error(node)]


def _is_ellipsis(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _suppressed(node: ast.With) -> Iterator[ast.expr]:
    """Yield the types of errors that a `with suppress(…)` ignores."""
    for item in node.items:
        for call in ast.walk(item.context_expr):
            if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("suppress"):
                yield from call.args


def _hides_bugs(node: ast.ExceptHandler | ast.With) -> bool:
    types = list(_suppressed(node)) if isinstance(node, ast.With) else [node.type or ast.Name("BaseException")]
    names = {name for each in types for name in ast.unparse(each).strip("()").replace(" ", "").split(",")}
    return not names.isdisjoint({"Exception", "BaseException"})


def _has_comment(path: Path, node: ast.ExceptHandler | ast.With) -> bool:
    """Return whether a comment is above the node, or anywhere from its first line to that of its first statement."""
    lines = tree.text(path).splitlines()
    above, inside = lines[node.lineno - 2], lines[node.lineno - 1 : node.body[0].lineno]
    return above.lstrip().startswith("#") or any("  # " in line or line.lstrip().startswith("#") for line in inside)


def test_names_say_what_a_thing_is() -> None:
    vague = [str(path) for path in FILES if path.stem in ("utils", "util", "helpers", "misc", "common")]
    assert not vague
