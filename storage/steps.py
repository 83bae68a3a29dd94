"""Work that is done a bit at a time: a generator that pauses after each bit and returns what came of it.

Who owns an event loop lets others run at the pauses (broker/slices.py); who has a thread to itself goes through
without one. What the work has looked at may have changed when it goes on: it says itself what it copes with.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")

Steps = Generator[None, None, T]
"""Between two pauses lies a bounded piece of work, well under a millisecond of it."""


def finish(steps: Steps[T]) -> T:
    """All of it at once."""
    try:
        while True:
            next(steps)
    except StopIteration as stop:
        result: T = stop.value
        return result
