"""What scripts/compile does around the compiler: two at once, and one that fails. And what it may be given."""

from __future__ import annotations

import ast
import shutil
import sys
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

import pytest

from barnabas import form
from scripts import _compile
from tests.support import source_tree
from tests.support.source_tree import ROOT


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a checkout with one module has what is compiled; there is some already, of other sources."""
    package = tmp_path / "barnabas"
    (package / "protocol").mkdir(parents=True)
    (package / "protocol" / "primitives.py").write_text("# compiled: mypyc\n")
    (package / "protocol" / "registry.py").write_text("pass\n")
    target = package / "compiled" / form.TAG
    target.mkdir(parents=True)
    (target / "library.so").write_text("before")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(_compile, "ROOT", tmp_path)
    monkeypatch.setattr(_compile, "PACKAGE", package)
    return target


def make_library(paths: list[str], directory: Path, library: str, optimization: str) -> None:
    assert (paths, optimization) == (["barnabas/protocol/primitives.py"], "2")
    shutil.rmtree(directory / "lib", ignore_errors=True)
    (directory / "lib").mkdir()
    (directory / "lib" / "library.so").write_text("after")


def test_what_was_compiled_takes_the_place_of_what_there_was(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_compile, "_compile", make_library)
    assert _compile.main() == 0
    assert (target / "library.so").read_text() == "after"
    version, module, source = (target / form.MANIFEST).read_text().splitlines()
    assert (version, module) == (form.MANIFEST_VERSION, "module barnabas.protocol.primitives")
    assert source.endswith(" protocol/primitives.py")
    assert [each.name for each in target.parent.iterdir()] == [form.TAG]


def test_nobody_else_compiles_to_the_same_files(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(paths: list[str], directory: Path, library: str, optimization: str) -> None:
        with (directory / "lock").open("w") as lock, pytest.raises(BlockingIOError):
            flock(lock, LOCK_EX | LOCK_NB)
        make_library(paths, directory, library, optimization)

    monkeypatch.setattr(_compile, "_compile", locked)
    assert _compile.main() == 0
    with (target.parents[2] / "build" / "mypyc" / form.TAG / "lock").open("w") as lock:
        flock(lock, LOCK_EX | LOCK_NB)


def test_what_there_was_stays_where_the_copy_fails(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: Path, copy: Path) -> None:
        copy.mkdir()
        raise OSError("no space left on device")

    monkeypatch.setattr(_compile, "_compile", make_library)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copytree", full)
        with pytest.raises(OSError, match="no space"):
            _compile.main()
    assert (target / "library.so").read_text() == "before"
    assert _compile.main() == 0
    assert (target / "library.so").read_text() == "after"


def test_a_marked_module_is_compiled() -> None:
    product = source_tree.python_files(*source_tree.PRODUCT)
    marked = {path for path in product if source_tree.text(path).startswith("# compiled: mypyc")}
    assert {_compile.path_of(module).resolve().relative_to(ROOT) for module in _compile.compiled_modules()} == marked
    assert Path("storage/log/append.py") in marked


@pytest.mark.parametrize("mark", ["# compiled: mypyc", "# compiled: mypyc, as it runs for each record"])
def test_a_mark_may_give_its_reason(mark: str) -> None:
    assert _compile.is_marked("barnabas.it", f'{mark}\n"""What it is."""\n')
    assert not _compile.is_marked("barnabas.it", '"""What it is."""\n')


@pytest.mark.parametrize(
    "source",
    [
        "# compield: mypyc\n",
        "# compiled: mypy\n",
        "#compiled: mypyc\n",
        "# Compiled: mypyc\n",
        "# compiled: mypyc as it runs for each record\n",
        '"""What it is."""\n# compiled: mypyc\n',
        '"""What it is."""\n\n# compiled: mypy\n',
        "# compiled: mypyc\n# compiled: mypyc\n",
        "\n# compiled: mypyc\n",
    ],
)
def test_what_only_looks_like_a_mark_is_an_error(source: str) -> None:
    with pytest.raises(ValueError, match=r"barnabas\.it: .* is a misspelt or misplaced mark"):
        _compile.is_marked("barnabas.it", source)


def thrown_into(source: str) -> list[str]:
    """Coroutines, and generators that a failure is thrown into: those are openings."""
    nodes = list(ast.walk(ast.parse(source)))
    coroutines = [node.name for node in nodes if isinstance(node, ast.AsyncFunctionDef)]
    functions = [(node.name, node.returns) for node in nodes if isinstance(node, ast.FunctionDef)]
    return coroutines + [name for name, kind in functions if kind and ast.unparse(kind).startswith("Opening[")]


def test_nothing_that_exceptions_are_thrown_into_is_compiled() -> None:
    sources = {module: _compile.path_of(module).read_text() for module in _compile.compiled_modules()}
    assert {module: found for module, source in sources.items() if (found := thrown_into(source))} == {}
    others = "async def wait(): ...\ndef opening() -> Opening[int]: ...\ndef take() -> int: ..."
    assert thrown_into(others) == ["wait", "opening"]


def calls_in_slices(source: str) -> list[str]:
    """Slices whose bounds call what may have an effect: mypyc evaluates such a bound twice."""
    slices = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Slice)]
    calls = [(each, node) for each in slices for node in ast.walk(each) if isinstance(node, ast.Call | ast.NamedExpr)]
    harmless = {"len", "min", "max"}
    return [ast.unparse(each) for each, node in calls if ast.unparse(getattr(node, "func", node)) not in harmless]


def test_no_compiled_module_calls_anything_in_a_slice() -> None:
    sources = {module: _compile.path_of(module).read_text() for module in _compile.compiled_modules()}
    assert {module: found for module, source in sources.items() if (found := calls_in_slices(source))} == {}
    others = "a[: fill(a)]\nb[len(c) :]\nc[max(0, i) : (j := 3)]\nd[next(e) :: 2]\ne[f(0)]"
    assert calls_in_slices(others) == [":fill(a)", "max(0, i):(j := 3)", "next(e)::2"]


def fields_for_type_checkers(source: str) -> list[str]:
    """Fields of named tuples whose class is imported for type checkers only."""
    nodes = list(ast.walk(ast.parse(source)))
    guarded = [node for node in nodes if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    imports = [each for node in guarded for each in ast.walk(node) if isinstance(each, ast.ImportFrom)]
    names = {alias.asname or alias.name for each in imports for alias in each.names}
    tuples = [node for node in nodes if isinstance(node, ast.ClassDef) and "NamedTuple" in map(ast.unparse, node.bases)]
    fields = [(each, field) for each in tuples for field in each.body if isinstance(field, ast.AnnAssign)]
    return [
        f"{each.name}.{ast.unparse(field.target)}" for each, field in fields if ast.unparse(field.annotation) in names
    ]


def test_a_named_tuple_knows_the_classes_of_its_fields_at_run_time() -> None:
    """mypyc takes the class itself for the tuple's annotations; one that is not imported yet is no address at all."""
    sources = {module: _compile.path_of(module).read_text() for module in _compile.compiled_modules()}
    assert {module: found for module, source in sources.items() if (found := fields_for_type_checkers(source))} == {}
    guarded = "if TYPE_CHECKING:\n    from log import Log\n"
    assert fields_for_type_checkers(guarded + "class Read(NamedTuple):\n    log: Log\n    size: int\n") == ["Read.log"]


MADE_ONCE = {
    "barnabas.broker.api.dispatch": ["serve"],
    "barnabas.broker.api.produce_fetch.frame_handlers": ["serve", "serve"],
    "barnabas.broker.api.stages.metering": ["serve", "serve_hot", "serve_timed"],
    "barnabas.broker.api.stages.tracing": ["serve"],
}
"""Closures that a broker makes once for each version of an API, and keeps."""


def closures(source: str) -> list[str]:
    """Return the functions with a name that are defined in other functions."""
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    inner = {each: None for node in functions for each in ast.walk(node) if each is not node}
    return [each.name for each in functions if each in inner]


def test_no_request_defines_a_function() -> None:
    """mypyc stores such a function among the variables that it refers to, a cycle for the garbage collector."""
    sources = {module: _compile.path_of(module).read_text() for module in _compile.compiled_modules()}
    assert {module: found for module, source in sources.items() if (found := closures(source))} == MADE_ONCE
    nested = "def handle():\n    def respond(): ...\n    if True:\n        def wait(): ...\ndef other(): ..."
    assert closures(nested) == ["respond", "wait"]


def shifted_constants(source: str) -> list[str]:
    """Return the shifts of a constant by something that is none."""
    shifts = [
        each for each in ast.walk(ast.parse(source)) if isinstance(each, ast.BinOp) and isinstance(each.op, ast.LShift)
    ]
    of_constants = [each for each in shifts if isinstance(each.left, ast.Constant)]
    return [ast.unparse(each) for each in of_constants if not isinstance(each.right, ast.Constant)]


def test_no_constant_is_shifted_by_a_variable() -> None:
    """With a variable of type i64, mypyc has C do so in 32 bits."""
    sources = {module: _compile.path_of(module).read_text() for module in _compile.compiled_modules()}
    assert {module: found for module, source in sources.items() if (found := shifted_constants(source))} == {}
    assert shifted_constants("mask = (1 << size) - 1\nlimit = 1 << 40\nwider = mask << size\n") == ["1 << size"]
