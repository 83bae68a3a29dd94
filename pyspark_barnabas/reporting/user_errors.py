"""Errors that people read: their sentence says what is wrong and which option changes it, and is complete.

Spark prints the traceback of any error that a Python data source raises, with the causes before it. `sentence_alone`
decorates every method that Spark calls: a UserError leaves it without our frames and without its causes, so that its
sentence comes directly after Spark's own lines. Any other error is a bug, and keeps everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class UserError(Exception):
    """An error whose message is a sentence for people."""


def sentence_alone(method: Callable[P, T]) -> Callable[P, T]:
    """Wrap the method, so that a UserError leaves it without traceback and causes."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(*args, **kwargs)
        except UserError as error:
            raise error.with_traceback(None) from None

    return call


def sentence_alone_in_rows(rows: Iterator[Any]) -> Iterator[Any]:
    """Do the same for an iterator that a method returns and Spark reads later."""
    try:
        yield from rows
    except UserError as error:
        raise error.with_traceback(None) from None
