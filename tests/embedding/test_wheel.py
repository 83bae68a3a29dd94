"""The built wheel in an empty environment: a file of ten lines outside the repository has its broker."""

import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.embedding.conftest import Project
from tests.support.source_tree import ROOT

PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input")
EXAMPLE = ROOT / "examples" / "pytest" / "test_orders.py"


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    done = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.usefixtures("_whichever_form")
def test_ten_lines_have_a_broker_once_the_wheel_is_installed(tmp_path: Path) -> None:
    run(sys.executable, *PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("barnabas-*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    run(python, *PIP, "install", wheel, "pytest", "kafka-python==3.0.12")

    project = Project(tmp_path / "project", python)
    project.write(EXAMPLE.name, EXAMPLE.read_text(encoding="utf-8"))
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) == 10
    assert "1 passed" in project.run()

    installed = run(python, "-c", "import barnabas; print(barnabas.__file__)", cwd=tmp_path).strip()
    assert installed.startswith(str(tmp_path))
    assert Path(installed).with_name("py.typed").exists()
    assert run(tmp_path / "venv" / "bin" / "barnabas", "--version").startswith("barnabas ")
