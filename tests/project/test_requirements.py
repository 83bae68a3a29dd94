"""The locks are whole, hashed, free of addresses, and agree with pyproject.toml and with each other."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from tests.support.source_tree import ROOT, tracked_files

LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
ECOSYSTEM_LOCKS = sorted((ROOT / "tests" / "ecosystem" / "python" / "locks").glob("*.txt"))
JAVASCRIPT_LOCKS = [ROOT / path for path in tracked_files() if path.name == "package-lock.json"]
PINNED = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)


def _requirements(path: Path) -> set[str]:
    lines = (line.partition("#")[0].strip() for line in path.read_text().splitlines())
    return {line for line in lines if line and not line.startswith("-r")}


def test_every_list_of_wishes_has_its_lock() -> None:
    assert {path.stem for path in (ROOT / "requirements").glob("*.in")} == {path.stem for path in LOCKS}


@pytest.mark.parametrize("lock", [*LOCKS, *ECOSYSTEM_LOCKS], ids=lambda path: path.stem)
def test_a_lock_hashes_every_package_and_names_no_address(lock: Path) -> None:
    packages = re.split(r"\n(?=\S)", re.sub(r"^#.*\n", "", lock.read_text(), flags=re.MULTILINE).strip())
    assert packages

    assert [package for package in packages if "--hash=sha256:" not in package or not PINNED.match(package)] == []
    assert "://" not in lock.read_text()


@pytest.mark.parametrize("lock", JAVASCRIPT_LOCKS, ids=lambda path: path.parent.name)
def test_a_lock_of_javascript_clients_hashes_every_package_and_names_no_address(lock: Path) -> None:
    packages = [package for path, package in json.loads(lock.read_text())["packages"].items() if path]
    assert packages

    assert all(package["integrity"].startswith("sha512-") for package in packages)
    for package in packages:
        package.pop("funding", None)  # where its authors take donations
    assert "://" not in json.dumps(packages)


def test_locks_agree_on_versions() -> None:
    versions: dict[str, set[frozenset[str]]] = {}
    for lock in LOCKS:
        found: dict[str, set[str]] = {}  # more than one where a version of Python wants its own
        for name, version in PINNED.findall(lock.read_text()):
            found.setdefault(name, set()).add(version)
        for name, its_versions in found.items():
            versions.setdefault(name, set()).add(frozenset(its_versions))
    differing = {name for name, its_locks in versions.items() if len(its_locks) > 1}
    assert differing == {"confluent-kafka"}  # Quix Streams wants an older one than the newest, which is a client


def test_the_lists_say_what_pyproject_says() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    listed = {path.stem: _requirements(path) for path in (ROOT / "requirements").glob("*.in")}

    optional = project["project"]["optional-dependencies"]
    with_wheels = {f"{each}; python_version < '3.15'" for each in optional["seeds"]}
    assert listed["serve"] == {*project["project"]["dependencies"], *optional["secure"], *with_wheels}
    assert listed["test"] | listed["dev"] >= set(optional["dev"]) - set(optional["seeds"])
    assert listed["build"] >= set(project["build-system"]["requires"])
