"""Errors that people read: their sentence says what is wrong and which option changes it, and it says all.

Spark prints the traceback of whatever a Python data source raises, with the causes before it. `sentence_alone` is put
on every method that Spark calls: a UserError comes out of it without our frames and without its causes, so that its
sentence stands right behind Spark's own lines. Any other error is a bug, and keeps everything.
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
    """The method, from which a UserError comes alone."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(*args, **kwargs)
        except UserError as error:
            raise error.with_traceback(None) from None

    return call


def sentence_alone_in_rows(rows: Iterator[Any]) -> Iterator[Any]:
    """The same for what a method returns and Spark reads later."""
    try:
        yield from rows
    except UserError as error:
        raise error.with_traceback(None) from None
