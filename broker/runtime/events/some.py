"""Facts of bounded size: some of what may be very much."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import islice

SOME = 20
_SORTED_MAX = 1_000  # to sort more takes milliseconds


def some(texts: Iterable[str]) -> list[str]:
    """The first few of them."""
    return list(islice(texts, SOME))


def some_partitions(partitions: Collection[tuple[str, int]]) -> list[str]:
    """A few partitions, as `topic-0`: the first ones, unless there are very many."""
    found = sorted(partitions) if len(partitions) <= _SORTED_MAX else partitions
    return [f"{topic}-{partition}" for topic, partition in islice(found, SOME)]
