"""Golden stories: files that say what is done and, beneath, what comes of it."""

from collections.abc import Callable
from pathlib import Path

import pytest


def comes_out_as_written(path: Path, tell: Callable[[str], str], config: pytest.Config) -> None:
    """`tell` plays the story in `path` and gives its text as it now is; with --rewrite that text is the new story."""
    told = tell(path.read_text())
    if config.getoption("--rewrite"):
        path.write_text(told)
    assert told == path.read_text()
