"""The size of one micro-batch: limits on its offsets, distributed over the partitions. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.client.metadata import TopicPartition
from pyspark_barnabas.source.offsets import Offsets


def limit(start: Mapping[TopicPartition, int], latest: Mapping[TopicPartition, int], most: int) -> Offsets:
    """Return the ends of a batch of about `most` offsets, each partition in proportion to what it has.

    Partitions without a start are left at their latest offset. Shares are rounded down, but not to nothing: one offset
    of each partition that has any is read, so that none starves, and there may be a few more than `most`.
    """
    waiting = {where: end - start[where] for where, end in latest.items() if where in start and end > start[where]}
    total = sum(waiting.values())
    ends = dict(latest)
    for where, size in waiting.items():
        share = max(1, most * size // total)
        ends[where] = min(latest[where], start[where] + share)
    return ends


def waiting(start: Mapping[TopicPartition, int], latest: Mapping[TopicPartition, int]) -> int:
    """Return how many offsets can be read; of a partition without a start, all up to its latest offset."""
    return sum(end - start.get(where, 0) for where, end in latest.items())


class Patience:
    """The timer of minOffsetsPerTrigger: whether to wait for more, for no longer than `max_delay_ms`.

    The first batch never waits, as in Spark's own source. Times are any clock's milliseconds.
    """

    def __init__(self, least: int, max_delay_ms: int) -> None:
        self._least = least
        self._max_delay_ms = max_delay_ms
        self._last_ms: int | None = None

    def waits(self, offsets: int, now_ms: int) -> bool:
        """Return whether a batch of so many offsets is delayed; if not, restart the timer."""
        if self._last_ms is not None and offsets < self._least and now_ms - self._last_ms < self._max_delay_ms:
            return True
        self._last_ms = now_ms
        return False
