"""What an installation adds to site-packages, however it is made, and that no module is there under two names."""

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.embedding.test_wheel import PIP, run
from tests.support.source_tree import ROOT

LINKED = ("broker", "client", "logfiles", "protocol", "storage")

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


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a source distribution and the wheel that is built from the tree."""
    directory = tmp_path_factory.mktemp("distributions")
    run(sys.executable, "-c", f"from hatchling.build import build_sdist; build_sdist({str(directory)!r})")
    run(sys.executable, *PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", directory, ROOT)
    return directory


def site_packages(environment: Path) -> Path:
    (found,) = environment.glob("lib/python*/site-packages")
    return found


def modules(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def test_the_wheel_adds_one_name_and_nothing_else(distributions: Path, tmp_path: Path) -> None:
    (wheel,) = distributions.glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    before = {path.name for path in site_packages(tmp_path / "venv").iterdir()}
    programs = {path.name for path in (tmp_path / "venv/bin").iterdir()}
    run(tmp_path / "venv/bin/python", *PIP, "install", "--no-deps", wheel)
    added = {path.name for path in site_packages(tmp_path / "venv").iterdir()} - before
    assert {name for name in added if not name.endswith(".dist-info")} == {"barnabas"}
    assert {path.name for path in (tmp_path / "venv/bin").iterdir()} - programs == {"barnabas"}
    assert not any(path.is_symlink() for path in (site_packages(tmp_path / "venv") / "barnabas").iterdir())


def test_the_wheel_of_the_source_distribution_is_the_wheel_of_the_tree(distributions: Path, tmp_path: Path) -> None:
    (source,) = distributions.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = (path for path in tmp_path.iterdir() if path.is_dir())
    run(sys.executable, *PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, unpacked)
    (from_source,) = tmp_path.glob("*.whl")
    (from_tree,) = distributions.glob("*.whl")
    assert modules(from_source) == modules(from_tree)
    assert {f"barnabas/{name}/__init__.py" for name in LINKED} < modules(from_tree)
    assert {name.partition("/")[0] for name in modules(from_tree)} == {"barnabas"}


@pytest.mark.usefixtures("_whichever_form")
def test_no_module_of_the_wheel_is_loaded_twice(distributions: Path, tmp_path: Path) -> None:
    (wheel,) = distributions.glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    run(tmp_path / "venv/bin/python", *PIP, "install", wheel)
    assert run(tmp_path / "venv/bin/python", "-c", USE, cwd=tmp_path).strip() == "[]"


def test_no_module_of_an_editable_installation_is_loaded_twice(tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv/bin/python"
    run(python, *PIP, "install", "--editable", ROOT)
    for directory in (tmp_path, ROOT):  # in the root, every folder there can be imported
        assert run(python, "-c", USE + "import pyspark_barnabas.options", cwd=directory).strip() == "[]"
    where = run(python, "-c", "import barnabas.broker as it; print(it.__file__)", cwd=tmp_path).strip()
    assert os.path.realpath(where) == str(ROOT / "broker/__init__.py")


@pytest.mark.parametrize("name", LINKED)
def test_a_folder_at_the_top_is_no_import_name(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import {name}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert f"ImportError: its name is barnabas.{name}" in done.stderr
