"""scripts/_pythons.py: a Python that the machine lacks is fetched, and what keeps it from being fetched is said."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts import _pythons
from scripts._pythons import PythonNotFound, find_python


@pytest.fixture(autouse=True)
def _a_machine_without_pythons(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_pythons, "UNPACKED", tmp_path / "pythons")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))


def _make_python(path: Path, version: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {version}\n")
    path.chmod(0o755)


def test_a_python_of_the_path_comes_first_and_pyenv_helps_out(tmp_path: Path) -> None:
    pyenv = tmp_path / "versions" / "3.14.1" / "bin" / "python3.14"
    _make_python(pyenv, "3.14")
    assert find_python("3.14") == str(pyenv)
    _make_python(tmp_path / "python3.14", "3.14")
    assert find_python("3.14") == "python3.14"
    _make_python(tmp_path / "python3.14", "refuses")
    assert find_python("3.14") == str(pyenv)


def test_why_a_python_could_not_be_fetched_is_said() -> None:
    with pytest.raises(PythonNotFound, match=r"there is no Python 3\.14, and fetching it failed: .*apt-get"):
        find_python("3.14")


def test_what_apt_said_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], directory: Path | None = None) -> str:
        raise subprocess.CalledProcessError(100, command, stderr="E: The repository is not signed.\n")

    monkeypatch.setattr(_pythons, "_run", run)
    with pytest.raises(PythonNotFound, match=r"E: The repository is not signed\.$"):
        find_python("3.15")


@pytest.mark.parametrize("place", ["", "/copied/from"])
def test_an_unpacked_python_is_used_again_where_it_was_unpacked_for(place: str, tmp_path: Path) -> None:
    whole = tmp_path / "pythons" / "3.15"
    python = whole / "usr" / "bin" / "python3.15"
    _make_python(python, "3.15")
    (whole / "made-for").write_text(place or str(whole))
    if place:
        with pytest.raises(PythonNotFound, match="fetching it failed"):
            find_python("3.15")
    else:
        assert find_python("3.15") == str(python)
