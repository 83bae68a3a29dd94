"""Runs the tools of a release, and says why there is none."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_OURS = ("BARNABAS_", "KAFKA_", "PYTHON")


class NoRelease(Exception):
    """Why no release is made; the message is for the person who wanted one."""


def run(*command: str | Path, cwd: Path = ROOT, given: str = "", **variables: str) -> str:
    """Return the stdout of a program, or raise NoRelease with all that it printed.

    given: its stdin. variables: added to the environment, which has none of Barnabas, Kafka or Python.
    """
    inherited = {name: text for name, text in os.environ.items() if not name.startswith(_OURS)}
    done = subprocess.run(
        command, cwd=cwd, env=inherited | variables, input=given, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        printed = f"{done.stdout}{done.stderr}".strip()
        raise NoRelease(f"`{shlex.join(map(str, command))}` ended with status {done.returncode}:\n{printed}")
    return done.stdout


def run_module(name: str, *arguments: str | Path, cwd: Path = ROOT, **variables: str) -> str:
    """Run a tool of .venv-release, as `run` does."""
    return run(sys.executable, "-m", name, *arguments, cwd=cwd, **variables)
