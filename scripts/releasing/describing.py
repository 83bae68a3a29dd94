"""Writes what goes with the files of a release: bills of materials (CycloneDX), and SHA256SUMS for `sha256sum -c`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from scripts.releasing.building import SPARK, Files, version
from scripts.releasing.process import ROOT, run, run_module
from scripts.releasing.proving import Home

SUMS = "SHA256SUMS"


def write_bills(files: Files, homes: Mapping[str, Home]) -> None:
    """Write a bill for each distribution: what is installed with it and its extras, in the locked versions."""
    committed_s = run("git", "log", "-1", "--format=%ct").strip()
    for name, home in homes.items():
        bill = files.directory / f"{name}-{version(ROOT)}.cdx.json"
        kind = ("--mc-type", "library" if name == SPARK else "application")
        about = ("--pyproject", files.pyprojects[name], "--output-reproducible", "-o", bill)
        run_module("cyclonedx_py", "environment", *kind, *about, home.python, SOURCE_DATE_EPOCH=committed_s)


def write_checksums(directory: Path) -> str:
    """Write the checksums of all files of a directory, and return them."""
    digests = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(directory.iterdir())}
    lines = "".join(f"{digest}  {name}\n" for name, digest in digests.items())
    (directory / SUMS).write_text(lines, "utf-8")
    return lines
