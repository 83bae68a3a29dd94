# compiled: mypyc, as recovery counts each batch
"""Opening a partition in small steps: there may be a gigabyte to read, and other work waits for its turn.

An opening is a generator. It pauses after every bounded piece of work; if it yields a job, that must be run before it
continues, on any thread. It belongs to one owner, who may also close it: then it closes its descriptors.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from barnabas.storage.disk.sync_job import SyncJob

T = TypeVar("T")

Opening = Generator[SyncJob | None, None, T]
"""Yields None for a pause, or a job to run before it continues; returns the opened object. Raises StorageError."""

SEGMENTS_A_PIECE = 100  # segments of which only the sizes are read
PIECE_BYTES = 256 << 10
PAUSE_AFTER = 256  # batches
_BYTES_LIKE_A_BATCH = 8 << 10  # reading and checking so many takes about as long as parsing one batch


class PauseCounter:
    """A counter of work that determines pauses: after half a millisecond or so of it."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = PAUSE_AFTER

    def is_over(self, size: int) -> bool:
        """Return whether to pause now, after one more batch or piece of `size` bytes."""
        self._left -= 1 + size // _BYTES_LIKE_A_BATCH
        if self._left > 0:
            return False
        self._left = PAUSE_AFTER
        return True


def open_at_once(opening: Opening[T]) -> T:
    """Run the opening without pauses, syncing on this thread."""
    try:
        while True:
            job = next(opening)
            if job is not None:
                job.run_here()
    except StopIteration as end:
        opened: T = end.value
        return opened
