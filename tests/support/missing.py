"""Programs that a test needs and that scripts/test does not install."""

import os
import sys
from typing import NoReturn

import pytest

from scripts._pythons import PythonNotFound, find_python


def missing(what: str) -> NoReturn:
    """Fail on CI, whose machine has every program; skip elsewhere, as no package of ours could bring it."""
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what)


def python_of(version: str) -> str:
    """A Python of that version: the machine's, or the one that runs the test."""
    try:
        return find_python(version)
    except PythonNotFound as why:
        if version == f"{sys.version_info.major}.{sys.version_info.minor}":
            return sys.executable
        missing(str(why))
