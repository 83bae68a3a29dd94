"""Ranges of offsets, and how they are cut into tasks. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from barnabas.client.metadata import TopicPartition


class OffsetRange(NamedTuple):
    """The range that one task reads: the offsets from `start` on that are below `end`."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def where(self) -> TopicPartition:
        """The partition."""
        return self.topic, self.partition

    @property
    def size(self) -> int:
        """The number of offsets; there may be fewer records."""
        return self.end - self.start

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} from {self.start} to {self.end}"


def plan(ranges: Iterable[OffsetRange], *, min_partitions: int = 0, max_records: int = 0) -> list[OffsetRange]:
    """Cut the non-empty ranges so that none has more than `max_records` and there are about `min_partitions`.

    0 is no limit. As in Spark's own source, large ranges are cut in proportion to their size and small ones are left as
    they are, so that the number may miss min_partitions by a little, by rounding.
    """
    found = sorted(each for each in ranges if each.size > 0)
    if max_records:
        found = [piece for each in found for piece in cut(each, -(-each.size // max_records))]
    return _cut_to(found, min_partitions) if len(found) < min_partitions else found


def cut(whole: OffsetRange, pieces: int) -> list[OffsetRange]:
    """Return `pieces` adjacent ranges of about one size; fewer if there are fewer offsets."""
    pieces = max(1, min(pieces, whole.size))
    bounds = [whole.start + whole.size * number // pieces for number in range(pieces + 1)]
    return [whole._replace(start=start, end=end) for start, end in pairwise(bounds)]


def _cut_to(ranges: Sequence[OffsetRange], wanted: int) -> list[OffsetRange]:
    total = sum(each.size for each in ranges)
    small = {each for each in ranges if _share(each, total, wanted) == 1}
    left = max(1, wanted - len(small))
    large_total = total - sum(each.size for each in small)
    return [piece for each in ranges for piece in cut(each, 1 if each in small else _share(each, large_total, left))]


def _share(each: OffsetRange, total: int, wanted: int) -> int:
    """Return how many of `wanted` pieces are of this range, by its size; at least one. Halves are rounded up."""
    return max(1, int(Fraction(each.size * wanted, total) + Fraction(1, 2)))
