"""Builds the files of a release: of each distribution an archive of its sources and a wheel, and the compiled wheel.

The sources of `pyspark-barnabas` are all over the repository (decision 0161). Its archive has them at one place, as
they are in the wheel, with a pyproject.toml that needs no hook.

Invariant: a wheel that is built from an archive has the same files as the one that is built from the tree.
"""

from __future__ import annotations

import re
import shutil
import sys
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

from scripts._spark_tree import modules
from scripts.releasing.process import ROOT, NoRelease, run, run_module

BROKER, SPARK = "barnabas", "pyspark-barnabas"
_FOR_THE_TREE = re.compile(r"^\[tool\.hatch.*", re.MULTILINE | re.DOTALL)
_FOR_THE_ARCHIVE = '[tool.hatch.build.targets.wheel]\npackages = ["pyspark_barnabas"]\n'


@dataclass(frozen=True)
class Files:
    """The files of a release, which are all that `directory` has."""

    directory: Path
    archives: dict[str, Path]
    """By distribution, as all others."""
    pure: dict[str, Path]
    compiled: Path | None
    pyprojects: dict[str, Path]
    """Where a distribution describes itself."""

    @property
    def wheels(self) -> list[Path]:
        """All wheels."""
        return [*self.pure.values(), *([self.compiled] if self.compiled else [])]


def version(root: Path) -> str:
    """Return the version of both distributions."""
    found: str = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    return found


def build(scratch: Path, *, compiled: bool) -> Files:
    """Build everything below `scratch`."""
    directory, staged = scratch / "release", scratch / "staged"
    directory.mkdir()
    _stage(staged)
    archives = {BROKER: _hatch("sdist", ROOT, directory), SPARK: _hatch("sdist", staged, directory)}
    pure = {BROKER: _hatch("wheel", ROOT, directory), SPARK: _hatch("wheel", ROOT / "pyspark_barnabas", directory)}
    for name, archive in archives.items():
        _compare(pure[name], _from_archive(archive, scratch / "from-archive"))
    wheel = _compiled(scratch, directory) if compiled else None
    return Files(directory, archives, pure, wheel, {BROKER: ROOT / "pyproject.toml", SPARK: staged / "pyproject.toml"})


def _hatch(kind: str, source: Path, directory: Path, **variables: str) -> Path:
    """Return the file that hatchling builds from `source`."""
    before = set(directory.iterdir())
    run_module("hatchling", "build", "-t", kind, "-d", directory, cwd=source, **variables)
    (built,) = set(directory.iterdir()) - before
    return built


def _stage(staged: Path) -> None:
    """Write the sources of `pyspark-barnabas`, as they are in its archive."""
    for path, content in modules(ROOT).items():
        file = staged / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    for name in ("README.md", "LICENSE"):
        shutil.copy(ROOT / "pyspark_barnabas" / name, staged / name)
    in_tree = (ROOT / "pyspark_barnabas" / "pyproject.toml").read_text("utf-8")
    (staged / "pyproject.toml").write_text(archived_pyproject(in_tree, version(ROOT)), "utf-8")


def archived_pyproject(in_tree: str, version: str) -> str:
    """Return the pyproject.toml of the archive, with the version itself, and without hooks."""
    _, project, rest = in_tree.partition("[build-system]\n")
    static = f"{project}{rest}".replace('dynamic = ["version"]', f'version = "{version}"')
    return _FOR_THE_TREE.sub(_FOR_THE_ARCHIVE, static)


def _from_archive(archive: Path, directory: Path) -> Path:
    """Return the wheel that pip builds from an archive."""
    directory.mkdir(exist_ok=True)
    before = set(directory.iterdir())
    run_module("pip", "wheel", "--no-deps", "--no-index", "--no-build-isolation", "-w", directory, archive)
    (wheel,) = set(directory.iterdir()) - before
    return wheel


def _compare(one: Path, other: Path) -> None:
    """Raise NoRelease if two wheels differ in a file; RECORD only lists them, in the order of building."""
    mine, its = _content(one), _content(other)
    differing = sorted(path for path in {*mine, *its} if mine.get(path) != its.get(path))
    if differing:
        raise NoRelease(f"the wheel {one.name} of the archive differs from that of the tree in {', '.join(differing)}")


def _content(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith(".dist-info/RECORD")}


def _compiled(scratch: Path, directory: Path) -> Path:
    """Build the compiled wheel for the Python that runs this, and name in it the C library that it needs."""
    run(sys.executable, ROOT / "scripts" / "_compile.py")
    bare = scratch / "bare"
    bare.mkdir()
    wheel = _hatch("wheel", ROOT, bare, HATCH_BUILD_HOOK_ENABLE_CUSTOM="true")
    if sys.platform != "linux":
        return Path(shutil.move(wheel, directory))
    programs = Path(sys.executable).parent
    repaired = scratch / "repaired"
    run(programs / "auditwheel", "repair", "--wheel-dir", repaired, wheel, PATH=f"{programs}:/usr/bin:/bin")
    (named,) = repaired.iterdir()
    return Path(shutil.move(named, directory))
