"""Golden stories: files with commands and, beneath each, its outcome."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest


def played(text: str, play: Callable[[str], list[str]]) -> str:
    """The story with the actual outcome of each command, which is a line behind `> `."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("> "):
            lines += [line, *play(line[2:])]
        elif not line.strip() or line.startswith("# "):
            lines.append(line)
    return "\n".join(lines) + "\n"


def parsed(words: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """The names among the words of a command, and its settings, each KEY=VALUE."""
    given = list(words)
    settings = dict(word.split("=", 1) for word in given if "=" in word)
    return [word for word in given if "=" not in word], settings


def comes_out_as_written(path: Path, play: Callable[[str], str], config: pytest.Config) -> None:
    """`play` plays the story in `path` and returns its present text; with --rewrite that text is the new story."""
    now = play(path.read_text())
    if config.getoption("--rewrite"):
        path.write_text(now)
    assert now == path.read_text()
