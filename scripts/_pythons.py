"""Finds the Python interpreters that the tests run on."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path


class PythonNotFound(Exception):
    """There is no Python of a version; the message says which."""


def find_python(version: str) -> str:
    """Return a Python of `version`, from the PATH or among pyenv's, whose own `python3.12` may refuse to start."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [f"python{version}", *map(str, sorted(pyenv.glob(f"{version}.*/bin/python{version}")))]
    for candidate in candidates:
        if shutil.which(candidate) and _answers(candidate, version):
            return candidate
    raise PythonNotFound(f"there is no Python {version}")


def _answers(python: str, version: str) -> bool:
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    asked = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=False)
    return asked.stdout.strip() == version
