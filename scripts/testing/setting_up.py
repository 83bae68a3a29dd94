"""Sets up what a group of tests needs: environments, programs, jars, packages of other languages, compiled modules.

A program that is missing is installed where that is allowed (root on a machine with apt); otherwise `CannotRun` says
what to install. Every step does nothing when it was done before, and steps of several groups run one after the other.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from scripts._pythons import PythonNotFound, find_python
from scripts.testing.groups import COMPILED, ROOT, Group

DEBIAN_PACKAGES = {
    "buildah": "buildah",
    "c++": "g++",
    "cc": "gcc",
    "chromium": "chromium",
    "initdb": "postgresql",
    "java": "openjdk-17-jdk-headless",
    "javac": "openjdk-17-jdk-headless",
    "kcat": "kcat",
    "make": "make",
    "mmdebstrap": "mmdebstrap",
    "mvn": "maven",
    "node": "nodejs",
    "npm": "npm",
}
ELSEWHERE = {
    "cargo": "cargo from https://rustup.rs",
    "go": "Go 1.26 or later from https://go.dev/dl (Debian's golang-go is too old)",
}
_BESIDE_PATH = "usr/lib/postgresql/*/bin"  # where Debian has PostgreSQL's own programs, each version in its folder


class CannotRun(Exception):
    """A group lacks something; the message names it, and how to get it."""


def set_up(group: Group, *, is_long: bool = False) -> None:
    """Set up what `group` needs, `is_long` for the tests that other runs leave out, or raise `CannotRun`."""
    own = str(Path(sys.executable).resolve())  # .venv's: modules compiled for it serve the other environments, too
    python = _python(group.python) if group.python else own
    for environment in ((group.venv, group.lock, python), *((f".venv-{lock}", lock, own) for lock in group.beside)):
        if subprocess.run(["scripts/setup_venv", *environment], cwd=ROOT, check=False).returncode != 0:
            raise CannotRun(f"{environment[0]} could not be set up")
    find_programs(group.programs)
    if is_long:
        find_programs(group.long_programs)
    if group.form == COMPILED:
        find_programs(("cc",))
        _compile_hot_modules(group)
    if "mvn" in group.programs:
        _prepare("tests.support.clients.java", "prepare", "Apache Kafka's jars could not be fetched or archived")
    if group.name == "stack":  # 159 MB that only this group needs
        _prepare("tests.support.kafka.jars", "fetch_registry", "Apicurio Registry could not be fetched")
    if group.name == "ecosystem":
        _prepare("tests.support.ecosystem.installing", "install_quick_rows", "the frameworks could not be installed")
    if group.lock == "spark":
        _prepare("tests.support.spark.cluster", "prepare", "Spark could not be started", f"{group.venv}/bin/python")
    if "npm" in group.programs:
        _prepare("tests.support.clients.npm", "install_clients", "the JavaScript clients could not be installed")
    if group.name == "deploy":
        _prepare("tests.support.clients.go", "helm", "helm could not be built")
    elif "go" in group.programs:
        _prepare("tests.support.clients.go", "build_all", "the Go clients could not be built")
    if "buildah" in group.programs:
        if os.geteuid() != 0:
            raise CannotRun("needs root, to make an image without a Docker engine")
        _prepare("tests.support.processes.container", "make_base", "the image's base could not be made in a chroot")


def find_programs(programs: tuple[str, ...]) -> None:
    """Make sure that every one of `programs` is on the PATH, or in Debian's folder of PostgreSQL."""
    places = os.pathsep.join([os.environ.get("PATH", os.defpath), *map(str, Path("/").glob(_BESIDE_PATH))])
    missing = [program for program in programs if shutil.which(program, path=places) is None]
    elsewhere = [ELSEWHERE[program] for program in missing if program in ELSEWHERE]
    if elsewhere:
        raise CannotRun(f"needs a program that is not installed: {', '.join(elsewhere)}")
    if missing:
        _install([DEBIAN_PACKAGES[program] for program in missing])


def _python(version: str) -> str:
    try:
        return find_python(version)
    except PythonNotFound as reason:
        raise CannotRun(str(reason)) from reason


def _install(packages: list[str]) -> None:
    """Install Debian `packages`, where that can be done without a question."""
    wanted = " ".join(dict.fromkeys(packages))
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise CannotRun(f"needs a program that is not installed (Debian: apt install {wanted})")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in ("apt-get -qq update", f"apt-get -qq -y --no-install-recommends install {wanted}"):
        if subprocess.run(command.split(), env=environment, stdin=subprocess.DEVNULL, check=False).returncode != 0:
            raise CannotRun(f"`{command}` failed")


def _compile_hot_modules(group: Group) -> None:
    """Compile them for the brokers, which run in .venv, and for the group's own tests."""
    for python in (".venv/bin/python", f"{group.venv}/bin/python"):
        if subprocess.run(["scripts/compile", python], cwd=ROOT, check=False).returncode != 0:
            raise CannotRun("the hot modules could not be compiled; --form pure runs the tests on the pure ones")


def _prepare(module: str, function: str, failure: str, python: str = sys.executable) -> None:
    """Call a function of the tests' support that prepares files in .cache or node_modules for several tests."""
    program = f"from {module} import {function}; {function}()"
    if subprocess.run([python, "-c", program], cwd=ROOT, check=False).returncode != 0:
        raise CannotRun(failure)
