"""Asks for the newest release of packages: by uv, go, npm and Maven, each with the index that it is configured for.

A client that has not answered after LIMIT_S is ended; npm and Maven, which ask for one package after the other, run
several times at once.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

from scripts.comparing.pins import normal
from scripts.comparing.versions import newest

LIMIT_S = 240
_AT_A_TIME = 4
_PYTHON = "3.14"  # the newest for which packages have wheels; some have no newer release for an older one
_DEPENDENCY = (
    "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>[2147483647,)</version><type>pom</type>"
    "</dependency>"
)
_PROJECT = (
    "<project><modelVersion>4.0.0</modelVersion><groupId>barnabas</groupId><artifactId>newer</artifactId>"
    "<version>1</version><packaging>pom</packaging><dependencies>{}</dependencies></project>"
)
_NOTED = re.compile(r"^(maven-metadata-\S+\.xml)\.lastUpdated=(\d+)$", re.MULTILINE)


class NoAnswer(Exception):
    """A client is missing, or failed; the message says what it printed."""


def python(ours: Mapping[str, str]) -> dict[str, str]:
    """Return the newest release of each package on the index of uv."""
    uv = Path(sys.executable).with_name("uv")
    options = ("--quiet", "--no-deps", "--no-annotate", "--no-header", "--python-version", _PYTHON)
    printed = _run(str(uv), "pip", "compile", *options, "-", given="\n".join(ours))
    return {normal(name): version for name, version in re.findall(r"^([\w.-]+)==(\S+)", printed, re.MULTILINE)}


def go(ours: Mapping[str, str]) -> dict[str, str]:
    """Return the newest release of each module that the proxy of go has."""
    with tempfile.TemporaryDirectory() as outside:  # of every module, whose requirements would count otherwise
        printed = _run("go", "list", "-e", "-m", "-json", *(f"{name}@latest" for name in ours), cwd=outside)
    found: dict[str, str] = {}
    decoder = json.JSONDecoder()
    while printed := printed.lstrip():
        module, end = decoder.raw_decode(printed)
        printed = printed[end:]
        if "Error" not in module:
            found[module["Path"]] = module["Version"]
    return found


def npm(ours: Mapping[str, str]) -> dict[str, str]:
    """Return the release of each package that the registry of npm calls the latest."""
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        printed = pool.map(lambda name: _run("npm", "view", name, "dist-tags.latest", "--json"), ours)
        return {name: json.loads(text) for name, text in zip(ours, printed, strict=True)}


def maven(ours: Mapping[str, str]) -> dict[str, str]:
    """Return the newest release of each artifact in the repositories of Maven.

    Where a version is a range, Maven notes in its local repository which versions there are, with previews. No version
    is in the range that we ask for: Maven would read the description of each that is. So it fails in any case.
    """
    since_ms = time.time() * 1000 // 1000 * 1000  # Maven's notes may have whole seconds
    shares = [share for at in range(_AT_A_TIME) if (share := list(ours)[at::_AT_A_TIME])]
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        done = list(pool.map(_ask_maven, shares))
    found = {name: newest(_noted_by_maven(name, since_ms)) for name in ours}
    if not any(found.values()):
        raise NoAnswer(_failure("mvn", done[0]))
    return {name: version for name, version in found.items() if version is not None}


def _ask_maven(names: Sequence[str]) -> subprocess.CompletedProcess[str]:
    dependencies = "".join(_DEPENDENCY.format(*name.split(":")) for name in names)
    with tempfile.TemporaryDirectory() as directory:
        pom = Path(directory, "pom.xml")
        pom.write_text(_PROJECT.format(dependencies), "utf-8")
        return _start("mvn", "-q", "-B", "-U", "-f", str(pom), "dependency:resolve")


def _noted_by_maven(name: str, since_ms: float) -> set[str]:
    """Return the versions of an artifact that Maven has noted since then, of every repository."""
    group, artifact = name.split(":")
    home = Path.home() / ".m2" / "repository" / group.replace(".", "/") / artifact
    status = home / "resolver-status.properties"  # when each note was written
    noted = _NOTED.findall(status.read_text("utf-8")) if status.exists() else []
    fresh = [home / note for note, when_ms in noted if float(when_ms) >= since_ms and (home / note).exists()]
    notes = [ElementTree.parse(path) for path in fresh]  # nosec B314 - Maven wrote it
    return {version.text or "" for each in notes for version in each.iter("version")}


def _run(program: str, *arguments: str, given: str = "", cwd: str | None = None) -> str:
    done = _start(program, *arguments, given=given, cwd=cwd)
    if done.returncode != 0:
        raise NoAnswer(_failure(program, done))
    return done.stdout


def _start(program: str, *arguments: str, given: str = "", cwd: str | None = None) -> subprocess.CompletedProcess[str]:
    if shutil.which(program) is None:
        raise NoAnswer(f"there is no {program}")
    command = [program, *arguments]
    try:
        return subprocess.run(
            command, input=given, capture_output=True, text=True, cwd=cwd, check=False, timeout=LIMIT_S
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"error: no answer within {LIMIT_S} s")


def _failure(program: str, done: subprocess.CompletedProcess[str]) -> str:
    """Return what a client said of its failure: the line of the error, or the last one."""
    lines = f"{done.stdout}{done.stderr}".strip().splitlines() or ["nothing was printed"]
    line = next((each for each in lines if "error" in each.lower()), lines[-1])
    return f"{Path(program).name} failed with status {done.returncode}: {line.strip()}"
