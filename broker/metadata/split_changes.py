"""Requests that make very many changes: split into several changes of the catalogue, with other work in between.

Each change is written as one batch and synced. So the topics of a large request are created, deleted or configured in
several changes, one after the other, and each topic is answered with its own result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from barnabas.broker.runtime.scheduler import WorkClass

T = TypeVar("T")

SLICE_PARTITIONS = 25
"""How many partitions are created or deleted (some 150 us each) before other work is done."""
CHANGES = WorkClass(steps_max=1, may_begin_again=False)


def in_changes(items: Iterable[T], size_of: Callable[[T], int], size: int = SLICE_PARTITIONS) -> Iterator[list[T]]:
    """Yield the items of one turn of the loop each: at least one, until their total size reaches `size`."""
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
