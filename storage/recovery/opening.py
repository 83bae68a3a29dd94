"""Opening a partition a bit at a time: what there is to read may be a gigabyte, and others wait for their turn.

An opening is a generator. It pauses after every bounded piece of work; where it says so, a sync is to be done before it
goes on, on whatever thread. It belongs to one owner, who may also close it: then it gives its descriptors back.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from barnabas.storage.disk.sync_job import SyncJob

T = TypeVar("T")

Opening = Generator[SyncJob | None, None, T]
"""Yields None for a pause, or a job to run before it goes on; returns what was opened. Raises StorageError."""

SEGMENTS_A_PIECE = 100  # of those of which nothing is read but their sizes
PIECE_BYTES = 256 << 10
PAUSE_AFTER = 256  # batches
_BYTES_LIKE_A_BATCH = 8 << 10  # to read and check so many takes about as long as to look at one batch


class Pace:
    """Counts work, and says when it is time for a pause: after half a millisecond or so of it."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = PAUSE_AFTER

    def is_over(self, size: int) -> bool:
        """Whether to pause now, after one more batch or piece of `size` bytes."""
        self._left -= 1 + size // _BYTES_LIKE_A_BATCH
        if self._left > 0:
            return False
        self._left = PAUSE_AFTER
        return True


def open_at_once(opening: Opening[T]) -> T:
    """Go through without a pause, syncing on this thread."""
    try:
        while True:
            job = next(opening)
            if job is not None:
                job.run_here()
    except StopIteration as end:
        opened: T = end.value
        return opened
