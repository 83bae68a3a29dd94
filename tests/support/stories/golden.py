"""Golden stories: files with commands and, beneath each, its outcome."""

from collections.abc import Callable
from pathlib import Path

import pytest


def comes_out_as_written(path: Path, play: Callable[[str], str], config: pytest.Config) -> None:
    """`play` plays the story in `path` and returns its present text; with --rewrite that text is the new story."""
    played = play(path.read_text())
    if config.getoption("--rewrite"):
        path.write_text(played)
    assert played == path.read_text()
