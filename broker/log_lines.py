"""One line per event on stderr: time, level, where, what happened, then its facts as key=value.

    2026-11-21T13:05:02.417Z WARNING net connection refused peer=127.0.0.1:50312 reason="more than max.connections=100"

Programs and people read the same line. Values with spaces or quotes are quoted; line breaks never get through, since
some of the values come from the network.
"""

from __future__ import annotations

import logging
import sys
import time
from typing import Any, TextIO

LEVELS = ("debug", "info", "warning", "error")
_ROOT = "barnabas"


def logger(room: str) -> logging.Logger:
    """The logger of one part of the broker: `net`, `api`, `storage` …"""
    return logging.getLogger(f"{_ROOT}.{room}")


def line(event: str, /, **facts: Any) -> str:
    """The text of a log line: the event, then its facts. A fact that is None is left out."""
    words = [event]
    words += [f"{key}={_quoted(value)}" for key, value in facts.items() if value is not None]
    return " ".join(words)


def _quoted(value: object) -> str:
    text = str(value)
    if text and text.isprintable() and not any(mark in text for mark in ' "='):
        return text
    escaped = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
    return '"' + escaped.replace('"', '\\"') + '"'


class _Formatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        room = record.name.removeprefix(f"{_ROOT}.")
        text = f"{seconds}.{int(record.msecs):03d}Z {record.levelname} {room} {record.getMessage()}"
        if record.exc_info and record.exc_info[0] is not None:
            text += "\n" + self.formatException(record.exc_info)
        return text


def configure(level: str, stream: TextIO | None = None) -> None:
    """Send the broker's lines of `level` and above to `stream` (stderr), and asyncio's warnings with them."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(_Formatter())
    for name, threshold in ((_ROOT, level.upper()), ("asyncio", "WARNING")):
        target = logging.getLogger(name)
        target.handlers = [handler]
        target.propagate = False
        target.setLevel(threshold)
