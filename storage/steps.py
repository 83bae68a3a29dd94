"""Work that is done a bit at a time: a generator that pauses after each bit and returns the result.

The owner of an event loop lets others run at the pauses (broker/runtime/scheduler.py); a thread of its own goes through
without. What the work has looked at may have changed when it goes on: each such function says which changes it allows.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

A = TypeVar("A")
T = TypeVar("T")

AT_ONCE = 100
"""How many small things are done between two pauses: more of these would keep small requests waiting for others."""

Steps = Generator[None, None, T]
"""The work between two pauses is bounded, well under a millisecond."""


class Pauses:
    """When work pauses that does small things in loops within loops: behind each hundred, whichever loop did them."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = AT_ONCE

    def is_due(self, count: int = 1) -> bool:
        """Count so many more small things; whether a pause is due behind them."""
        self._left -= count
        if self._left > 0:
            return False
        self._left = AT_ONCE
        return True


def finish(steps: Steps[T]) -> T:
    """All of it at once."""
    try:
        while True:
            next(steps)
    except StopIteration as stop:
        result: T = stop.value
        return result


def mapped(make: Callable[[A], T], items: Iterable[A], at_once: int = AT_ONCE) -> Steps[list[T]]:
    """What is made of each."""
    made: list[T] = []
    for item in items:
        made.append(make(item))
        if not len(made) % at_once:
            yield
    return made


def listed(items: Iterable[T]) -> Steps[list[T]]:
    """All of them."""
    return (yield from mapped(lambda item: item, items))


def decided(decide: Callable[[], Steps[T]], changes: Callable[[], int]) -> Steps[T]:
    """What `decide` comes to when nothing changed while it paused: it decides anew until that is so.

    `changes`: how often what it looks at has changed so far."""
    while True:
        before = changes()
        decision = yield from decide()
        if changes() == before:
            return decision


Work = Generator[int | Callable[[], None], None, T]
"""Long work in a helper process, or in slices: pauses with the bytes read and written since the pause before, or with a
function that is to be called before it goes on, in whatever thread (a sync)."""


def finish_work(work: Work[T]) -> T:
    """All of it at once."""
    failure: Exception | None = None
    while True:
        try:
            paused = next(work) if failure is None else work.throw(failure)
        except StopIteration as stop:
            result: T = stop.value
            return result
        failure = None
        if not isinstance(paused, int):
            try:
                paused()
            except Exception as raised:  # whatever it is, the work is told
                failure = raised
