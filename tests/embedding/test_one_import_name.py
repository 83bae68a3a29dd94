"""What an installation adds to site-packages, however it is made, and that no module is there under two names."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.embedding.conftest import PIP, Environment, Project, run
from tests.support.source_tree import ROOT

EXAMPLE = ROOT / "examples" / "pytest" / "test_orders.py"
LINKED = ("broker", "client", "logfiles", "protocol", "registry", "storage")

USE = """
import os, sys
from barnabas import Barnabas
with Barnabas(topics=["orders"], in_process=True) as broker:
    assert broker.topics() == {"orders": 1}
    assert broker.records("orders") == []
import barnabas.client.transactions.producer

names = {}
for name, module in list(sys.modules.items()):
    if getattr(module, "__file__", None):
        names.setdefault(os.path.realpath(module.__file__), []).append(name)
assert len([name for name in sys.modules if name.startswith("barnabas.")]) > 100
print([each for each in names.values() if len(each) > 1 and any("barnabas" in name for name in each)])
"""


def modules(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def test_the_wheel_adds_one_name_and_nothing_else(wheel: Path, tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv")
    programs = {path.name for path in environment.programs.iterdir()}
    environment.install("--no-deps", wheel)
    added = {path.name for path in environment.packages.iterdir()}
    assert {name for name in added if not name.endswith(".dist-info")} == {"barnabas"}
    assert {path.name for path in environment.programs.iterdir()} - programs == {"barnabas"}
    assert not any(path.is_symlink() for path in (environment.packages / "barnabas").iterdir())


def test_the_wheel_of_the_source_distribution_is_the_wheel_of_the_tree(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-c", f"from hatchling.build import build_sdist; build_sdist({str(tmp_path)!r})")
    (source,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = (path for path in tmp_path.iterdir() if path.is_dir())
    run(*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, unpacked)
    (from_source,) = tmp_path.glob("*.whl")
    assert modules(from_source) == modules(wheel)
    assert {f"barnabas/{name}/__init__.py" for name in LINKED} < modules(wheel)
    assert {name.partition("/")[0] for name in modules(wheel)} == {"barnabas"}


@pytest.mark.usefixtures("_whichever_form")
def test_the_installed_wheel_loads_no_module_twice_and_ten_lines_have_a_broker(wheel: Path, tmp_path: Path) -> None:
    """In a file outside the repository."""
    environment = Environment(tmp_path / "venv")
    environment.install(wheel, "pytest", "kafka-python==3.0.12")
    assert run(environment.python, "-c", USE, cwd=tmp_path).strip() == "[]"
    project = Project(tmp_path / "project", str(environment.python))
    project.write(EXAMPLE.name, EXAMPLE.read_text(encoding="utf-8"))
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) == 10
    assert "1 passed" in project.run()
    installed = run(environment.python, "-c", "import barnabas; print(barnabas.__file__)", cwd=tmp_path).strip()
    assert installed.startswith(str(tmp_path))
    assert Path(installed).with_name("py.typed").exists()
    assert run(environment.programs / "barnabas", "--version").startswith("barnabas ")


def test_no_module_of_an_editable_installation_is_loaded_twice(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv")
    environment.install("--editable", ROOT)
    for directory in (tmp_path, ROOT):  # in the root, every folder there can be imported
        assert run(environment.python, "-c", USE + "import pyspark_barnabas.options", cwd=directory).strip() == "[]"
    where = run(environment.python, "-c", "import barnabas.broker as it; print(it.__file__)", cwd=tmp_path).strip()
    assert os.path.realpath(where) == str(ROOT / "broker/__init__.py")


@pytest.mark.parametrize("name", LINKED)
def test_a_folder_at_the_top_is_no_import_name(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import {name}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert f"ImportError: import it as barnabas.{name}" in done.stderr
