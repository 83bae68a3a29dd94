"""What was compiled is used only if it is this Python's, whole, and made of the sources as they are; else pure ones."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas import form
from scripts import _compile
from tests.support.source_tree import PRODUCT, ROOT

MODULE = "barnabas.protocol.primitives"
PROGRAM = f"import {MODULE} as it; print(it.__file__); print(it.uvarint(300), it.read_varint(it.uvarint(5), 0))"
RESULTS = "b'\\xac\\x02' (-3, 1)"
only_compiled = pytest.mark.skipif(form.running() != form.COMPILED, reason="nothing is compiled: scripts/test compiled")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout without anything compiled. `protocol` is a copy, the other packages are those of this checkout."""
    for name in set(PRODUCT) - {"barnabas", "protocol"}:
        (tmp_path / name).symlink_to(ROOT / name)
    ignored = shutil.ignore_patterns("__pycache__", "compiled")
    shutil.copytree(ROOT / "protocol", tmp_path / "protocol", ignore=ignored)
    shutil.copytree(ROOT / "barnabas", tmp_path / "barnabas", symlinks=True, ignore=ignored)
    return tmp_path


def compiled(checkout: Path, tag: str = form.TAG) -> Path:
    """A directory for compiled modules, with a manifest and a library that cannot be loaded."""
    package = checkout / "barnabas"
    directory = package / "compiled" / tag
    directory.mkdir(parents=True)
    source = form.source_line(str(package), "protocol/primitives.py", with_time=True)
    (directory / form.MANIFEST).write_text(f"{form.MANIFEST_VERSION}\nmodule {MODULE}\n{source}\n")
    for name in (f"{form.LIBRARY}__mypyc", MODULE.replace(".", "/")):
        file = directory / f"{name}.{tag}.so"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"no library")
    return directory


def change(checkout: Path) -> None:
    source = checkout / "protocol" / "primitives.py"
    text = source.read_text()
    assert text[3] != "X"
    source.write_text(f"{text[:3]}X{text[4:]}")  # as many bytes


def run(checkout: Path, program: str, wished: str = "") -> tuple[str, str]:
    environment = {**os.environ, form.VARIABLE: wished}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    return done.stdout, done.stderr


def runs_pure(checkout: Path, program: str = PROGRAM, wished: str = "") -> str:
    """Check that the pure module runs in that checkout; what is said on stderr."""
    out, err = run(checkout, program, wished)
    assert out == f"{checkout}/barnabas/protocol/primitives.py\n{RESULTS}\n", err
    return err


def test_a_fresh_checkout_runs_pure_and_prints_nothing(checkout: Path) -> None:
    assert runs_pure(checkout) == ""


def test_a_changed_source_puts_compiled_modules_aside(checkout: Path) -> None:
    compiled(checkout)
    change(checkout)
    said = (
        "protocol/primitives.py has changed since the modules were compiled. To compile them again: scripts/compile\n"
    )
    assert runs_pure(checkout) == f"barnabas: running the pure modules: {said}"


def test_a_library_that_cannot_be_loaded_is_not_used(checkout: Path) -> None:
    compiled(checkout)
    assert "cannot be loaded" in runs_pure(checkout)


def test_another_time_alone_makes_no_source_another(checkout: Path) -> None:
    compiled(checkout)
    os.utime(checkout / "protocol" / "primitives.py", (1, 1))
    assert "cannot be loaded" in runs_pure(checkout)  # it came as far as the library


def test_half_made_modules_are_not_used(checkout: Path) -> None:
    (compiled(checkout) / form.MANIFEST).unlink()
    assert "there is no manifest in" in runs_pure(checkout)


def test_a_manifest_of_another_version_is_not_understood(checkout: Path) -> None:
    (compiled(checkout) / form.MANIFEST).write_text("barnabas 0\n")
    assert "has another version" in runs_pure(checkout)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("source 12", "is damaged"),
        ("source 12 34 ab", "is damaged"),
        ("source 12 x ab protocol/primitives.py", "is damaged"),
        ("source 1 1 00 protocol/gone.py\n", "protocol/gone.py is missing, a source of the compiled modules"),
    ],
)
def test_a_manifest_that_is_damaged_or_names_a_source_that_is_gone_fails_no_import(
    checkout: Path, line: str, said: str
) -> None:
    with (compiled(checkout) / form.MANIFEST).open("a") as manifest:
        manifest.write(line)
    assert said in runs_pure(checkout)


def test_files_compiled_for_another_python_are_not_touched(checkout: Path) -> None:
    compiled(checkout, "cpython-39-x86_64-linux-gnu")
    change(checkout)
    assert runs_pure(checkout) == ""


def test_pure_modules_can_be_demanded(checkout: Path) -> None:
    compiled(checkout)
    change(checkout)
    assert runs_pure(checkout, wished=form.PURE) == ""


@pytest.mark.parametrize(
    ("program", "wished", "said"),
    [
        (PROGRAM, form.COMPILED, "BARNABAS_FORM=compiled, but there is no manifest"),
        (PROGRAM, "complied", "BARNABAS_FORM=complied is neither pure nor compiled"),
        (f"try: import {MODULE}\nexcept ImportError: pass\n{PROGRAM}", form.COMPILED, "compiled, but there is no man"),
    ],
    ids=["there is none", "a misspelt one", "a program that was refused goes on"],
)
def test_a_form_that_is_demanded_and_not_there_runs_nothing(
    checkout: Path, program: str, wished: str, said: str
) -> None:
    out, err = run(checkout, program, wished)
    assert (out, "ImportError: BARNABAS_FORM=" in err, said in err) == ("", True, True), err


@pytest.mark.parametrize("wished", [form.PURE, pytest.param(form.COMPILED, marks=only_compiled)])
def test_the_version_names_the_form(wished: str) -> None:
    program = "from barnabas.broker.cli import main; main(['--version'])"
    out, err = run(ROOT, program, wished)
    assert err == ""
    assert out.endswith(f" ({wished})\n")


@only_compiled
def test_compiled_modules_run_once_their_sources_are_changed_back(checkout: Path) -> None:
    directory = checkout / "barnabas" / "compiled"
    shutil.copytree(ROOT / "barnabas" / "compiled", directory)
    out, err = run(checkout, PROGRAM)
    assert err == ""
    assert out.splitlines() == [f"{directory}/{form.TAG}/barnabas/protocol/primitives.{form.TAG}.so", RESULTS]

    source = checkout / "protocol" / "primitives.py"
    before = source.read_bytes()
    change(checkout)
    assert "protocol/primitives.py has changed since" in runs_pure(checkout)
    source.write_bytes(before)
    assert run(checkout, PROGRAM) == (out, "")


@only_compiled
def test_every_marked_module_is_compiled() -> None:
    from importlib import import_module

    files = {name: str(import_module(name).__file__) for name in _compile.compiled_modules()}
    assert [name for name, file in files.items() if not file.endswith(f".{form.TAG}.so")] == []


@only_compiled
@pytest.mark.parametrize(
    "target",
    [
        f"{MODULE}.uvarint",
        "barnabas.broker.coordinator.group.decisions.consumer.assignors.loads.Loads",
        "barnabas.broker.coordinator.group.decisions.consumer.assignors.loads.Loads.giver",
        "barnabas.broker.coordinator.group.decisions.consumer.assignors.loads.Loads.is_balanced",
        "barnabas.broker.coordinator.group.decisions.consumer.assignors.loads.Loads.__init__",
    ],
    ids=["a function", "a class", "a method", "a property", "a constructor"],
)
def test_a_test_cannot_replace_what_compiled_code_would_still_call(
    monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    with pytest.raises(AssertionError, match="mark the test pure"):
        monkeypatch.setattr(target, None)


def test_a_test_can_replace_what_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = "barnabas.broker.coordinator.group.decisions.consumer.assignors.hash_order"
    monkeypatch.setattr(f"{tables}.JAVA_VERSION", 17)
    monkeypatch.setattr(f"{tables}.struct", None)
    monkeypatch.setattr(shutil, "which", None)
