"""The logger `pyspark_barnabas`, whose lines appear beside those of Spark.

Spark copies the stderr of its Python processes into the log of the driver or executor that started them. If
a program has configured Python's logging there, for this logger or for all, nothing is changed; if it does so later,
the configuration made here is removed.
"""

from __future__ import annotations

import logging
import threading

_LOGGER = logging.getLogger("pyspark_barnabas")
_lock = threading.Lock()


class _SparksForm(logging.Formatter):
    """The format of Spark's own lines, which call a warning WARN."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(message)s", "%y/%m/%d %H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Format the line."""
        level = "WARN" if record.levelno == logging.WARNING else record.levelname
        return f"{record.asctime} {level} pyspark_barnabas: {record.message}"


class _OwnHandler(logging.StreamHandler):  # type: ignore[type-arg]  # because Python 3.10 has no such arguments
    """A handler to stderr, if no other handler writes the lines."""

    has_set_level = False


def own_log() -> logging.Logger:
    """Return the logger; to be called for each line. If logging is not configured, it writes to stderr from INFO on, in
    the format of Spark's lines.
    """
    with _lock:
        theirs = logging.getLogger().handlers if _LOGGER.propagate else []
        own = [each for each in _LOGGER.handlers if isinstance(each, _OwnHandler)]
        if theirs or len(_LOGGER.handlers) > len(own):
            for handler in own:
                _take_back(handler)
        elif not own:
            _set_up()
    return _LOGGER


def _set_up() -> None:
    handler = _OwnHandler()
    handler.setFormatter(_SparksForm())
    _LOGGER.addHandler(handler)
    if _LOGGER.level == logging.NOTSET:
        _LOGGER.setLevel(logging.INFO)
        handler.has_set_level = True


def _take_back(handler: _OwnHandler) -> None:
    _LOGGER.removeHandler(handler)
    if handler.has_set_level and _LOGGER.level == logging.INFO:
        _LOGGER.setLevel(logging.NOTSET)
