# compiled: mypyc, as a traced broker runs it for each event
"""Facts of bounded size: the first items of what may be a long list."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import islice

SOME = 20
_SORTED_MAX = 1_000  # to sort more takes milliseconds


def some(texts: Iterable[str]) -> list[str]:
    """Return the first few texts."""
    return list(islice(texts, SOME))


def some_partitions(partitions: Collection[tuple[str, int]]) -> list[str]:
    """Return a few partitions, as `topic-0`: the first ones in order, unless there are very many."""
    found = sorted(partitions) if len(partitions) <= _SORTED_MAX else partitions
    return [f"{topic}-{partition}" for topic, partition in islice(found, SOME)]
