"""One run of all tests that notes which of them reach which mutants."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from scripts.mutating import plugin, process
from scripts.mutating.drawing import Mutant, watched
from scripts.mutating.process import ROOT

TESTS = tuple(f"tests/{name}" for name in ("protocol", "logfiles", "storage", "broker", "client", "barnabas", "probes"))
OPTIONS = ("-q", "-m", "not long")
PLUGIN = ("-p", "scripts.mutating.plugin")


def python_path() -> str:
    """Return the path for programs that tests start, with `sitecustomize` and its imports."""
    return os.pathsep.join([str(ROOT / "scripts" / "mutating" / "inside"), str(ROOT)])


def record(directory: Path, mutants: list[Mutant], processes: int) -> None:
    """Write to `directory` what `drawing.Recorded` reads."""
    directory.mkdir(parents=True)
    (directory / "watched.json").write_text(json.dumps(watched(mutants)))
    environment = os.environ | {
        process.RECORDED: str(directory),
        plugin.JOURNAL: str(directory / "journal"),
        "PYTHONPATH": python_path(),
    }
    workers = ["-n", str(processes), "--dist", "loadfile", f"--basetemp={directory / 'scratch'}"]
    command = [sys.executable, "-m", "pytest", *OPTIONS, *PLUGIN, *workers, *TESTS]
    subprocess.run(command, cwd=ROOT, env=environment, check=False)  # tests that fail do not count
