"""A command that runs in the tests' own process sets up its logging: what it did is undone afterwards."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept_logging() -> Iterator[None]:
    """At the end the loggers that a command sets up are as they were."""
    loggers = [logging.getLogger(name) for name in ("", "barnabas", "asyncio")]
    before = [([*logger.handlers], logger.propagate, logger.level) for logger in loggers]
    try:
        yield
    finally:
        for logger, (handlers, propagate, level) in zip(loggers, before, strict=True):
            logger.handlers, logger.propagate = handlers, propagate
            logger.setLevel(level)
