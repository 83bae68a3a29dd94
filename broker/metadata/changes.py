"""Requests that change very many things: in several changes of the catalogue, with other work in between.

Each change is written as one batch and synced. So the topics of a large request come, go, or get their settings, one
change after the other, and each is answered by what became of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from barnabas.broker.runtime.scheduler import WorkClass

T = TypeVar("T")

SLICE_PARTITIONS = 25
"""How many partitions are created or deleted (some 150 us each) before others have their turn."""
CHANGES = WorkClass(steps_max=1, may_begin_again=False)


def in_changes(items: Iterable[T], size_of: Callable[[T], int], size: int = SLICE_PARTITIONS) -> Iterator[list[T]]:
    """What is changed in one turn of the loop each: at least one, and no more once they have reached the size."""
    change: list[T] = []
    reached = 0
    for item in items:
        change.append(item)
        reached += max(1, size_of(item))
        if reached >= size:
            yield change
            change, reached = [], 0
    if change:
        yield change
