"""Commands typed into bash in a pseudo-terminal, and what the terminal shows.

Everything but the commands themselves comes out of the terminal as it was written there; nothing is added or left out.
bash shows no prompt of its own, because the output of a job in the background would come behind it: a prompt is drawn
in front of each command instead. The end of a command is recognised by a mark that is printed after it.
"""

import os
import pty
import re
import select
import signal
import termios
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.support.terminal.session import Typed
from tests.support.waiting import PATIENCE_S

COLUMNS = 100
ROWS = 50
_MARK = "\x1e"
_ERASE = "\x1b[K"


class Line(NamedTuple):
    """A line of the terminal."""

    text: str
    is_typed: bool


class NotShown(Exception):
    """A command did not show in time what was expected of it."""


def record(session: Iterable[Typed], closing: str, directory: Path, environment: Mapping[str, str]) -> list[Line]:
    """The lines of the terminal after this session in `directory`; `closing` is typed afterwards and not shown."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(directory)
        os.execvpe(
            "bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"], {**environment, "PS1": "", "PS2": ""}
        )
    try:
        termios.tcsetwinsize(terminal, (ROWS, COLUMNS))
        _be_silent(terminal)
        lines: list[Line] = []
        for typed in session:
            lines.append(Line(typed.command, is_typed=True))
            lines += [Line(text, is_typed=False) for text in _run(terminal, typed)]
        _run(terminal, Typed(closing))
        return lines
    finally:
        os.close(terminal)  # bash and its jobs get SIGHUP
        os.kill(pid, signal.SIGHUP)
        os.waitpid(pid, 0)


def _be_silent(terminal: int) -> None:
    """No echo of the input, and bash ready to read it."""
    attributes = termios.tcgetattr(terminal)
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, attributes)
    _type(terminal, "set -b")
    _read_to_mark(terminal)


def _run(terminal: int, typed: Typed) -> list[str]:
    """The output from the command to its end, and to the awaited text."""
    _type(terminal, typed.command)
    shown = _read_to_mark(terminal)
    if typed.until:
        shown += _read_until(terminal, typed.until, shown)
    return [as_displayed(line) for line in shown.split("\n")[:-1]]


def as_displayed(line: str) -> str:
    """What is left of a line on which a program showed its progress: carriage returns and erasures carried out."""
    displayed = ""
    for piece in line.rstrip("\r").split("\r"):
        if piece.startswith(_ERASE):
            displayed, piece = "", piece.removeprefix(_ERASE)
        displayed = piece + displayed[len(piece) :]
    return displayed


def _type(terminal: int, command: str) -> None:
    os.write(terminal, f"{command}\nprintf '\\036'\n".encode())


def _read_to_mark(terminal: int) -> str:
    return _read_until(terminal, _MARK, "").replace(_MARK, "")


def _read_until(terminal: int, pattern: str, before: str) -> str:
    """What comes until `before` and it together match."""
    shown = ""
    end = time.monotonic() + PATIENCE_S
    while not re.search(pattern, before + shown):
        readable, _, _ = select.select([terminal], [], [], max(0, end - time.monotonic()))
        if not readable:
            raise NotShown(f"waited {PATIENCE_S} s for {pattern!r}, and there was only {before + shown!r}")
        shown += os.read(terminal, 65536).decode()
    return shown
