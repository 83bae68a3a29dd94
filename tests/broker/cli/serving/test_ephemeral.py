"""Directories for a short time: where they are made, and that nobody's are left, and nobody else's are taken."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.broker.cli.serving import ephemeral
from barnabas.broker.cli.serving.ephemeral import EphemeralDirectory, choose_base, sweep
from tests.support.source_tree import ROOT

HOLD = """
import sys
from barnabas.broker.cli.serving.ephemeral import EphemeralDirectory
print(EphemeralDirectory(sys.argv[1]).path, flush=True)
sys.stdin.read()
"""


def test_it_is_there_until_the_end(tmp_path: Path) -> None:
    with EphemeralDirectory(str(tmp_path)) as directory:
        Path(directory.path, "data").mkdir()
        assert Path(directory.path).parent == tmp_path
        assert Path(directory.path).stat().st_mode & 0o777 == 0o700
    assert list(tmp_path.iterdir()) == []


def test_directories_of_killed_processes_are_removed_and_those_of_live_ones_are_not(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        held = Path(holder.stdout.readline().strip())
        sweep(str(tmp_path))
        assert held.is_dir()
        holder.kill()
    with EphemeralDirectory(str(tmp_path)) as directory:
        assert [str(path) for path in tmp_path.iterdir()] == [directory.path]


def test_a_directory_that_only_has_such_a_name_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / f"{ephemeral.PREFIX}mine").mkdir()
    (tmp_path / f"{ephemeral.PREFIX}file").write_text("kept")
    sweep(str(tmp_path))
    assert len(list(tmp_path.iterdir())) == 2


def test_it_is_made_where_tmpdir_says_or_in_memory_with_room_or_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ephemeral, "_MEMORY", str(tmp_path))
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr(ephemeral, "_MEMORY_FREE_MIN", 1)
    assert choose_base() == str(tmp_path)
    monkeypatch.setattr(ephemeral, "_MEMORY_FREE_MIN", 1 << 62)
    assert choose_base() != str(tmp_path)
    monkeypatch.setattr(ephemeral, "_MEMORY_FREE_MIN", 1)
    monkeypatch.setattr("tempfile.tempdir", None)  # what it has found before
    monkeypatch.setenv("TMPDIR", os.path.dirname(tmp_path))
    assert choose_base() == os.path.dirname(tmp_path)
