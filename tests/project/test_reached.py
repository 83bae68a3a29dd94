"""What a run of tests notes of the functions that it reaches, and how scripts/test --changed selects by that."""

import json
import os
import subprocess
from dataclasses import asdict
from pathlib import Path

import pytest

from scripts._pythons import find_python
from scripts.testing import reached
from scripts.testing.changed import choose
from scripts.testing.changes import Change
from scripts.testing.groups import NEWEST
from scripts.testing.reached import Reach, recorded
from tests.support.waiting import PATIENCE_S

TEXTS = {
    "storage/log.py": "",
    "storage/whole.py": "from barnabas.storage import log\n",
    "tests/storage/test_log.py": "from barnabas.storage import whole\n",
    "tests/storage/test_whole.py": "from barnabas.storage import whole\n",
    "tests/storage/test_programs.py": "from barnabas.storage import whole\n",
    "tests/storage/test_unnoted.py": "from barnabas.storage import whole\n",
}


def _notes(**functions: list[str]) -> dict[str, Reach]:
    """Return notes: the functions of storage/log.py that each of the files of tests reaches."""
    paths = {name: f"tests/storage/test_{name}.py" for name in functions}
    return {paths[name]: Reach(paths[name], functions={"storage/log.py": there}) for name, there in functions.items()}


def _chosen(change: Change, notes: dict[str, Reach]) -> tuple[str, ...]:
    return choose((change,), TEXTS, notes).paths


def test_tests_that_reached_no_changed_function_do_not_run_and_those_without_notes_do() -> None:
    notes = _notes(log=["read"], whole=["append", "read"])
    notes["tests/storage/test_programs.py"] = Reach("tests/storage/test_programs.py", starts_programs=True)
    assert _chosen(Change("storage/log.py", frozenset({"append"})), notes) == (
        "tests/storage/test_whole.py",
        "tests/storage/test_unnoted.py",
        "tests/storage/test_programs.py",
    )


def test_what_runs_at_the_import_of_a_module_concerns_all_that_reached_any_of_it() -> None:
    notes = _notes(log=["read"], whole=[], programs=["append"], unnoted=["read"])
    assert set(_chosen(Change("storage/log.py", is_module_changed=True), notes)) == {
        "tests/storage/test_log.py",
        "tests/storage/test_whole.py",
        "tests/storage/test_programs.py",
        "tests/storage/test_unnoted.py",
    }


def test_a_new_method_concerns_what_reached_its_class() -> None:
    notes = _notes(log=["Log.read"], whole=["append"], programs=["Other.read"], unnoted=["read"])
    assert _chosen(Change("storage/log.py", added=frozenset({"Log.__eq__"})), notes) == ("tests/storage/test_log.py",)


def test_the_time_that_was_noted_counts() -> None:
    notes = _notes(log=["read"], whole=["read"], programs=["read"], unnoted=["read"])
    notes["tests/storage/test_whole.py"].processor_s = 1000.0
    assert "tests/storage/test_whole.py" not in _chosen(Change("storage/log.py", frozenset({"read"})), notes)


def test_notes_of_tests_that_are_gone_are_not_read(tmp_path: Path) -> None:
    folder = tmp_path / reached.FOLDER
    folder.mkdir(parents=True)
    (tmp_path / "test_there.py").touch()
    for name in ("test_there.py", "test_gone.py"):
        (folder / f"{name}.json").write_text(json.dumps(asdict(Reach(name))))
    assert list(recorded(tmp_path)) == ["test_there.py"]


PROJECT = {
    "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\n",
    "real/log.py": "def append():\n    def inner(): ...\n    inner()\n\n\nclass Log:\n    def read(self): ...\n",
    "test_one.py": "from linked.log import append\n\n\ndef test_it():\n    append()\n",
    "test_two.py": (
        "import subprocess, sys\nfrom linked.log import Log, append\n\n\n"
        "def test_it():\n    Log().read()\n    append()\n"
        "\n\ndef test_program():\n    subprocess.run([sys.executable, '--version'], check=True)\n"
    ),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "linked").symlink_to("real")
    return tmp_path


def _run(project: Path, *arguments: str) -> dict[str, Reach]:
    """Return what is noted when pytest runs on the newest Python, with pytest from this environment."""
    folders = (Path(reached.__file__).parents[2], Path(pytest.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders)), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    options = ("-q", "-p", reached.__name__, "-p", "no:cacheprovider", "--import-mode=importlib")
    command = [find_python(NEWEST), "-m", "pytest", *options, *arguments]
    ran = subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return recorded(project)


def test_a_run_notes_the_functions_that_each_file_of_tests_reaches(project: Path) -> None:
    one, two = _run(project).values()
    assert (one.tests, one.functions, one.starts_programs) == ("test_one.py", {"real/log.py": ["append"]}, False)
    # Reached again, although the file before reached it; and named without the link, and without what is inside.
    assert (two.tests, two.functions, two.starts_programs) == (
        "test_two.py",
        {"real/log.py": ["Log.read", "append"]},
        True,
    )
    assert two.processor_s > 0


def test_a_run_of_one_file_leaves_the_notes_of_the_others(project: Path) -> None:
    _run(project)
    (project / "test_two.py").write_text("def test_it(): ...\n")
    notes = _run(project, "test_two.py")
    assert {tests: note.functions for tests, note in notes.items()} == {
        "test_one.py": {"real/log.py": ["append"]},
        "test_two.py": {},
    }


@pytest.mark.parametrize("arguments", [("test_two.py::test_program",), ("-k", "program")])
def test_a_run_of_some_tests_of_a_file_notes_nothing(project: Path, arguments: tuple[str, ...]) -> None:
    assert _run(project, *arguments) == {}
