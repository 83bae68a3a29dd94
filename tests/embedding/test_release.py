"""scripts/release in a clone of this tree: which files come out, what is in them, and what is refused."""

import hashlib
import json
import re
import shutil
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.embedding.conftest import run
from tests.support.source_tree import ROOT, tracked_files

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
PYTHON = ROOT / ".venv-release" / "bin" / "python"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The files of this tree as they are, committed; and what is compiled of them."""
    run("scripts/setup_venv", PYTHON.parents[1].name, "release")
    home = tmp_path / "clone"
    for path in tracked_files():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, home / path, follow_symlinks=False)
    for link in (ROOT / "barnabas").iterdir():
        if link.is_symlink():
            (home / "barnabas" / link.name).symlink_to(link.readlink())
    compiled = ROOT / "barnabas" / "compiled"
    if compiled.exists():
        shutil.copytree(compiled, home / "barnabas" / "compiled")
    git(home, "init", "--quiet")
    commit(home)
    return home


def git(home: Path, *arguments: str) -> None:
    run("git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments, cwd=home)


def commit(home: Path) -> None:
    git(home, "add", "--all")
    git(home, "commit", "--quiet", "--message", "all")


def release(clone: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program of scripts/release in the environment that this tree has for it."""
    command = [str(PYTHON), "-m", "scripts.releasing", *arguments]
    return subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("form", ["pure", pytest.param("compiled", marks=pytest.mark.long)])
def test_a_release_has_archives_wheels_bills_and_their_checksums(clone: Path, form: str) -> None:
    done = release(clone, *(["--pure"] if form == "pure" else []))
    assert (done.returncode, done.stderr) == (0, "")
    directory = clone / "dist" / VERSION
    files = {path.name: path for path in directory.iterdir()}
    compiled = {name for name in files if re.fullmatch(rf"barnabas-{VERSION}-cp\d+-cp\d+-\w+(\.\w+)*\.whl", name)}
    assert len(compiled) == (form == "compiled")
    assert files.keys() - compiled == {
        f"barnabas-{VERSION}.tar.gz",
        f"barnabas-{VERSION}-py3-none-any.whl",
        f"barnabas-{VERSION}.cdx.json",
        f"pyspark_barnabas-{VERSION}.tar.gz",
        f"pyspark_barnabas-{VERSION}-py3-none-any.whl",
        f"pyspark-barnabas-{VERSION}.cdx.json",
        "SHA256SUMS",
    }
    sums = files.pop("SHA256SUMS").read_text()
    assert sums == done.stdout
    assert dict(line.split("  ")[::-1] for line in sums.splitlines()) == {
        name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()
    }
    modules = {name: has_compiled_modules(path) for name, path in files.items() if path.suffix == ".whl"}
    assert {name for name, has in modules.items() if has} == compiled
    for name in ("barnabas", "pyspark-barnabas"):
        named = components(directory / f"{name}-{VERSION}.cdx.json")
        assert named >= dependencies(directory / f"{name.replace('-', '_')}-{VERSION}-py3-none-any.whl")
    with tarfile.open(directory / f"pyspark_barnabas-{VERSION}.tar.gz") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= {"pyproject.toml", "LICENSE", "README.md", "pyspark_barnabas/_barnabas/client/client.py"}
    assert not {name for name in names if name.startswith("scripts")}

    again = release(clone, "--pure")
    assert again.returncode == 1
    assert again.stderr == f"barnabas: {directory} is there already; remove it, or name another directory\n"


def has_compiled_modules(wheel: Path) -> bool:
    with zipfile.ZipFile(wheel) as archive:
        return any(name.endswith(".so") for name in archive.namelist())


def components(bill: Path) -> set[str]:
    """The names of what a bill of materials lists, as an index spells them."""
    content = json.loads(bill.read_text())
    assert content["bomFormat"] == "CycloneDX"
    assert content["metadata"]["component"]["version"] == VERSION
    return {normal(component["name"]) for component in content["components"]}


def dependencies(wheel: Path) -> set[str]:
    """The names of what a wheel requires wherever it is installed: no extras, and no marker of a system or Python."""
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = archive.read(metadata).decode().splitlines()
    required = [line.removeprefix("Requires-Dist: ") for line in lines if line.startswith("Requires-Dist: ")]
    names = {normal(re.split(r"[^\w.-]", each)[0]) for each in required if ";" not in each}
    assert names >= {"crc32c", "cramjam", "xxhash"}
    return names


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_an_uncommitted_tree_is_refused_at_once(clone: Path) -> None:
    (clone / "README.md").write_text("changed")
    done = release(clone)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "barnabas: README.md is not committed; a release is built from a commit\n"


def test_a_version_without_notes_is_refused_at_once(clone: Path) -> None:
    pyproject = clone / "pyproject.toml"
    pyproject.write_text(pyproject.read_text().replace(f'version = "{VERSION}"', 'version = "99.0.0"'))
    commit(clone)
    done = release(clone)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "barnabas: CHANGELOG.md has no heading `## 99.0.0`\n"
    assert not (clone / "dist").exists()
