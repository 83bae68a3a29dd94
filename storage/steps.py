"""Work that is done in small steps: a generator that pauses after each step and returns the result.

The event loop runs other work during the pauses (broker/runtime/scheduler.py); a separate thread runs all steps without
pauses. The data that the work reads may change during a pause: each such function documents which changes it allows.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

A = TypeVar("A")
T = TypeVar("T")

AT_ONCE = 100
"""The number of small operations between two pauses: with more, small requests would wait too long."""

Steps = Generator[None, None, T]
"""The work between two pauses is bounded, well under a millisecond."""


class Pauses:
    """A counter for work with nested loops: a pause is due after so many operations, in whichever loop."""

    __slots__ = ("_at_once", "_left")

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = self._left = at_once

    def is_due(self, count: int = 1) -> bool:
        """Count `count` more small operations; return whether a pause is due after them."""
        self._left -= count
        if self._left > 0:
            return False
        self._left = self._at_once
        return True


def finish(steps: Steps[T]) -> T:
    """Run all steps at once and return the result."""
    try:
        while True:
            next(steps)
    except StopIteration as stop:
        result: T = stop.value
        return result


def mapped(make: Callable[[A], T], items: Iterable[A], at_once: int = AT_ONCE) -> Steps[list[T]]:
    """Return the results of `make` for all items, in order."""
    made: list[T] = []
    for item in items:
        made.append(make(item))
        if not len(made) % at_once:
            yield
    return made


def collected(items: Iterable[T]) -> Steps[list[T]]:
    """Return all items as a list."""
    return (yield from mapped(lambda item: item, items))


def decided(decide: Callable[[], Steps[T]], changes: Callable[[], int]) -> Steps[T]:
    """Return the result of `decide`, which is repeated until nothing has changed while it paused.

    `changes`: returns how often the data that it reads have changed so far.
    """
    while True:
        before = changes()
        decision = yield from decide()
        if changes() == before:
            return decision


Work = Generator[int | Callable[[], None], None, T]
"""Long work in a helper process, or in slices: pauses with the bytes read and written since the previous pause, or with
a function that must be called before it continues, in any thread (a sync)."""
