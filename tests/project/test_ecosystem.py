"""The table of programs in docs/ecosystem.md: each row has its program, and its versions are those of its lock."""

import json
import re

from tests.support.ecosystem.installing import lock_of
from tests.support.ecosystem.row import PROGRAMS
from tests.support.ecosystem.rows import ROWS
from tests.support.source_tree import ROOT, tracked_files

_PLACE, _SUFFIXES = ("tests", "ecosystem"), (".go", ".java", ".mjs", ".py", ".rs")
GO = [row for row in ROWS if row.source.suffix == ".go"]
PYTHON = [row for row in ROWS if row.source.suffix == ".py"]


def test_each_program_belongs_to_one_row() -> None:
    programs = {
        ROOT / path
        for path in tracked_files()
        if (ROOT / path).suffix in _SUFFIXES and path.parts[:2] == _PLACE and len(path.parts) > 3
    }
    assert {row.source for row in ROWS} == programs
    assert len({row.name for row in ROWS}) == len({row.source.stem for row in ROWS}) == len(ROWS)


def test_the_module_of_a_go_program_has_the_versions_of_its_row() -> None:
    for row in GO:
        required = (row.source.parent / "go.mod").read_text()
        assert [pin for pin in row.pins if f"\t{pin.replace('@', ' ')}\n" not in required] == []
    assert {row.source.parent for row in GO} == set((PROGRAMS / "go").iterdir())


def test_the_javascript_package_has_the_versions_of_its_rows() -> None:
    required = json.loads((PROGRAMS / "js" / "package.json").read_text())["dependencies"]
    pins = [pin.rpartition("@") for row in ROWS if row.source.suffix == ".mjs" for pin in row.pins]
    assert {name: version for name, _, version in pins} == required


def test_the_rust_package_has_the_versions_of_its_rows() -> None:
    required = (PROGRAMS / "rust" / "Cargo.toml").read_text()
    pins = [pin.replace("@", ' = "=') for row in ROWS if row.source.suffix == ".rs" for pin in row.pins]
    assert [pin for pin in pins if f'\n{pin}"\n' not in required] == []


def test_two_rows_run_every_time() -> None:
    assert sum(row.is_quick for row in ROWS) == 2


def test_the_lock_of_a_python_program_has_the_versions_of_its_row() -> None:
    for row in PYTHON:
        pins = [re.sub(r"\[.*\]", "", pin) for pin in row.pins]
        assert [pin for pin in pins if f"{pin} \\\n" not in lock_of(row).read_text()] == []
    assert {lock_of(row) for row in PYTHON} == set((PROGRAMS / "python" / "locks").iterdir())
