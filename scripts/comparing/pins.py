"""Reads which packages the tree pins, and in which version: those that it names itself, and not what these need.

A package that is pinned in several versions, because tests try older ones as well, counts with its newest.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree

from scripts.comparing.versions import numbers

_REQUIRED = re.compile(r"^([A-Za-z0-9][\w.-]*)", re.MULTILINE)
_LOCKED = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)
_GO = re.compile(r"^(?:require)?\s+([\w.-]+\.\w+/\S+) (v\S+)$", re.MULTILINE)
_COORDINATES = re.compile(r'"([a-z]\w*(?:\.[a-z][\w-]*)*):([a-z][\w.-]*):(\d+\.\d[\w.]*)"')
_POM = "{http://maven.apache.org/POM/4.0.0}"


def python(root: Path) -> dict[str, str]:
    """Return the packages that requirements/*.in name, in the versions of the locks."""
    lists = (root / "requirements").glob("*.in")
    wanted = {normal(name) for path in lists for name in _REQUIRED.findall(path.read_text("utf-8"))}
    locks = (root / "requirements").glob("*.txt")
    locked = ((normal(name), ours) for path in locks for name, ours in _LOCKED.findall(path.read_text("utf-8")))
    return _highest((name, ours) for name, ours in locked if name in wanted)


def go(root: Path) -> dict[str, str]:
    """Return the modules that a go.mod requires directly."""
    return _highest(pin for path in _tracked(root, "*go.mod") for pin in _GO.findall(path.read_text("utf-8")))


def npm(root: Path) -> dict[str, str]:
    """Return the packages that a package.json names, in the versions of its lock."""
    return _highest(pin for path in _tracked(root, "*package.json") for pin in _locked_by_npm(path))


def maven(root: Path) -> dict[str, str]:
    """Return the artifacts (group:artifact) of every pom.xml, and those that modules of the tests name."""
    poms = (pin for path in _tracked(root, "*pom.xml") for pin in _of_pom(path.read_text("utf-8")))
    modules = (pin for path in _tracked(root, "tests/*.py") for pin in of_module(path.read_text("utf-8")))
    return _highest([*poms, *modules])


def normal(name: str) -> str:
    """Return the name of a Python package as an index spells it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def of_module(source: str) -> Iterator[tuple[str, str]]:
    """Yield the artifacts that a Python module names: "G:A:V", or three words in a row, each a text or a constant."""
    for group, artifact, version in _COORDINATES.findall(source):
        yield f"{group}:{artifact}", version
    if "org." not in source and "io." not in source:
        return
    tree = ast.parse(source)
    known = {name: value for node in tree.body for name, value in _constants(node)}
    for node in ast.walk(tree):
        words = node.elts if isinstance(node, ast.Tuple) else node.args if isinstance(node, ast.Call) else []
        pin = ":".join(_text(word, known) or "" for word in words[:3])
        if found := _COORDINATES.fullmatch(f'"{pin}"'):
            yield f"{found[1]}:{found[2]}", found[3]


def _constants(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield the texts that an assignment gives names, also several at once."""
    if not isinstance(node, ast.Assign):
        return
    values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
    for target in node.targets:
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        for name, value in zip(names, values, strict=False):
            if isinstance(name, ast.Name) and (text := _text(value, {})) is not None:
                yield name.id, text


def _text(node: ast.expr, known: dict[str, str]) -> str | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    return known.get(node.id) if isinstance(node, ast.Name) else None


def _of_pom(text: str) -> Iterator[tuple[str, str]]:
    project = ElementTree.fromstring(text)  # nosec B314 - of this tree
    for each in [*project.iter("dependency"), *project.iter(f"{_POM}dependency")]:
        fields = {field.tag.removeprefix(_POM): field.text or "" for field in each}
        yield f"{fields['groupId']}:{fields['artifactId']}", fields["version"]


def _locked_by_npm(path: Path) -> Iterator[tuple[str, str]]:
    listed = json.loads(path.read_text("utf-8"))
    locked = json.loads(path.with_name("package-lock.json").read_text("utf-8"))["packages"]
    for name in {**listed.get("dependencies", {}), **listed.get("optionalDependencies", {})}:
        yield name, locked[f"node_modules/{name}"]["version"]


def _tracked(root: Path, pattern: str) -> list[Path]:
    command = ["git", "-C", str(root), "ls-files", "-z", "--", pattern]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [root / name for name in sorted(filter(None, listed.split("\0")))]


def _highest(pinned: Iterable[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, version in pinned:
        if name not in found or numbers(version) > numbers(found[name]):
            found[name] = version
    return found
