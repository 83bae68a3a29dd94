"""One line per event on stderr: time, level, logger, event, then its facts as key=value.

    2026-11-21T13:05:02.417Z WARNING net connection refused peer=127.0.0.1:50312 reason="more than max.connections=100"

Programs and people read the same line. Values with spaces or quotes are quoted; line breaks never get through, since
some of the values come from the network. With `--log-format json` the same event is one JSON object instead:

    {"time": "2026-11-21T13:05:02.417Z", "level": "WARNING", "logger": "net", "event": "connection refused", "peer": …}
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Hashable
from math import isfinite
from typing import Any, TextIO

_SELDOM_MS = 60_000
LEVELS = ("debug", "info", "warning", "error")
_ROOT = "barnabas"


def logger(part: str) -> logging.Logger:
    """Return the logger of one part of the broker: `net`, `api`, `storage` and others."""
    return logging.getLogger(f"{_ROOT}.{part}")


class Line(str):
    """The text of a log line, which keeps the event and the facts it was made of."""

    __slots__ = ("event", "facts")

    event: str
    facts: dict[str, Any]


def line(event: str, /, **facts: Any) -> Line:
    """Return the text of a log line: the event, then its facts. A fact that is None is left out."""
    facts = {key: value for key, value in facts.items() if value is not None}
    made = Line(" ".join((event, *(f"{key}={_quoted(value)}" for key, value in facts.items()))))
    made.event, made.facts = event, facts
    return made


class Seldom:
    """Logs an event of a kind at most once a minute, with the number of those that were left out since."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        self._logged_ms: dict[Hashable, int] = {}
        self._not_logged: dict[Hashable, int] = {}

    def line(self, kind: Hashable, now_ms: int, event: str, /, **facts: Any) -> None:
        """Log the event unless one of its kind was logged less than a minute ago."""
        logged_ms = self._logged_ms.get(kind)
        if logged_ms is not None and 0 <= now_ms - logged_ms < _SELDOM_MS:
            self._not_logged[kind] = self._not_logged.get(kind, 0) + 1
            return
        self._logged_ms[kind] = now_ms
        self._log(line(event, **facts, not_logged=self._not_logged.pop(kind, None)))


def _quoted(value: object) -> str:
    text = str(value)
    if text and text.isprintable() and not any(mark in text for mark in ' "='):
        return text
    escaped = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
    return '"' + escaped.replace('"', '\\"') + '"'


class _TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        text = f"{_time(record)} {record.levelname} {_part(record)} {record.getMessage()}"
        if record.exc_info and record.exc_info[0] is not None:
            text += "\n" + self.formatException(record.exc_info)
        return text


class _JsonFormatter(logging.Formatter):
    """One object per line. Time, level, logger and event come first, and no fact of the same name replaces them."""

    def format(self, record: logging.LogRecord) -> str:
        import json

        made = record.msg
        known: dict[str, Any] = {"time": _time(record), "level": record.levelname, "logger": _part(record)}
        known["event"] = made.event if isinstance(made, Line) else record.getMessage()
        facts = made.facts if isinstance(made, Line) else {}
        if record.exc_info and record.exc_info[0] is not None:
            known["stack"] = self.formatException(record.exc_info)
        return json.dumps(known | {key: _plain(value) for key, value in facts.items() if key not in known})


def _time(record: logging.LogRecord) -> str:
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{seconds}.{int(record.msecs):03d}Z"


def _part(record: logging.LogRecord) -> str:
    return record.name.removeprefix(f"{_ROOT}.")


def _plain(value: object) -> object:
    """Return numbers and truth values as they are, anything else as its text."""
    if isinstance(value, bool | int) or (isinstance(value, float) and isfinite(value)):
        return value
    return str(value)


def configure(level: str, stream: TextIO | None = None, log_format: str = "text") -> None:
    """Send the broker's lines of `level` and above to `stream` (stderr), and asyncio's warnings with them.

    The level is the root's, too: it applies to a logger whose own level is removed.
    """
    logging.getLogger().setLevel(level.upper())
    handler = line_handler(stream or sys.stderr, log_format)
    for name, threshold in ((_ROOT, level.upper()), ("asyncio", "WARNING")):
        target = logging.getLogger(name)
        target.handlers = [handler]
        target.propagate = False
        target.setLevel(threshold)


def line_handler(stream: TextIO, log_format: str = "text") -> logging.Handler:
    """Return a handler that writes the broker's lines to `stream`, to send only some of a process's lines there."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_JsonFormatter() if log_format == "json" else _TextFormatter())
    return handler
