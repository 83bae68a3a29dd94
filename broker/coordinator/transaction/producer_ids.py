"""Producer ids: numbers that no two producers ever share, even after a crash.

They come in blocks that the catalogue records durably before the first id of one is used; the rest of a block is lost
at a stop, as in Kafka. Invariant: an id returned by `next` was never returned before and never will be.
"""

from collections.abc import Callable, Iterator


class ProducerIds:
    """A source of producer ids. `allocate_block` returns ids never used before or after; it may raise."""

    def __init__(self, allocate_block: Callable[[], range]) -> None:
        self._allocate_block = allocate_block
        self._left: Iterator[int] = iter(())

    def next(self) -> int:
        """Return a fresh id. Raises what the allocation raises (KAFKA_STORAGE_ERROR); a later call retries."""
        for producer_id in self._left:
            return producer_id
        self._left = iter(self._allocate_block())
        return next(self._left)
