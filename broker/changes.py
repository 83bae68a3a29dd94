"""Requests that change very many topics: in several changes of the catalogue, with other work in between.

Each change is written as one batch and synced. So the topics of a large request come, or go, one change after the
other, and each is answered by what became of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from barnabas.broker.slices import Kind

T = TypeVar("T")

SLICE_PARTITIONS = 25
"""How many partitions are created or deleted (some 150 us each) before others have their turn."""
CHANGES = Kind(steps_max=1, may_begin_again=False)


def in_changes(items: Iterable[T], partitions_of: Callable[[T], int]) -> Iterator[list[T]]:
    """What is changed in one turn of the loop each: so many partitions, at least one topic."""
    change: list[T] = []
    partitions = 0
    for item in items:
        change.append(item)
        partitions += max(1, partitions_of(item))
        if partitions >= SLICE_PARTITIONS:
            yield change
            change, partitions = [], 0
    if change:
        yield change
