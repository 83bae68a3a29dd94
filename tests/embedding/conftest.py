"""Projects as users have them, outside the repository, with packages of the names the broker's own have."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from barnabas import form
from tests.support.source_tree import ROOT

PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input")
OWN_PACKAGES = ("broker", "client", "logfiles", "protocol", "registry", "storage")
TIMEOUT_S = 180


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    done = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


class Environment:
    """A virtual environment with nothing in it, to which pip outside of it installs."""

    def __init__(self, directory: Path) -> None:
        venv.create(directory, with_pip=False)
        self.directory, self.programs = directory, directory / "bin"
        self.python = self.programs / "python"
        (self.packages,) = directory.glob("lib/python*/site-packages")

    def install(self, *what: str | Path) -> None:
        run(*PIP, "--python", self.python, "install", *what)

    def uninstall(self, name: str) -> None:
        run(*PIP, "--python", self.python, "uninstall", "--yes", name)


class Project:
    """A directory with tests, which other packages of the names `broker`, `storage`, … lie beside."""

    def __init__(self, home: Path, python: str = sys.executable) -> None:
        self.home = home
        self.python = python
        for name in OWN_PACKAGES:
            self.write(f"{name}/__init__.py", f"WHOSE = 'the project'\nNAME = '{name}'\n")

    def write(self, name: str, text: str) -> None:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """`python -m pytest` in the project, whose directory is also on PYTHONPATH."""
        inherited = {name: text for name, text in os.environ.items() if not name.startswith(("PYTEST", "KAFKA"))}
        return subprocess.Popen(
            [self.python, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-rA", *arguments],
            cwd=self.home,
            env={**inherited, "PYTHONPATH": str(self.home), "KAFKA_NUM_PARTITIONS": "nonsense"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str) -> str:
        """What pytest prints when all tests pass."""
        status, said = self.ended(self.start(*arguments))
        assert status == 0, said
        return said

    @staticmethod
    def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
        """(exit status, stdout)."""
        said, _ = process.communicate(timeout=TIMEOUT_S)
        return process.returncode, said


@pytest.fixture
def _whichever_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """No form is demanded of what is installed: a wheel that is built here is the pure one."""
    monkeypatch.delenv(form.VARIABLE, raising=False)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that is built from the tree."""
    directory = tmp_path_factory.mktemp("wheel")
    run(*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", directory, ROOT)
    (built,) = directory.glob("barnabas-*.whl")
    return built


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)
