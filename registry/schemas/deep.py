# compiled: mypyc
"""Recursion over schemas with a stack of its own.

A chain of ten thousand types that name each other is a valid schema, and deeper than Python's stack. So a function that
follows types is a generator: it yields the calls that it needs, and gets their results. `run` keeps the stack.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

T = TypeVar("T")
Deep = Generator["Deep[Any]", Any, T]


def run(call: Deep[T]) -> T:
    """Return what a generator returns, after the calls that it yields."""
    stack: list[Deep[Any]] = [call]
    result: Any = None
    while stack:
        try:
            needed = stack[-1].send(result)
        except StopIteration as done:
            stack.pop()
            result = done.value
        else:
            stack.append(needed)
            result = None
    return result  # type: ignore[no-any-return]  # of the generator that was first, which returns T
