"""Producer ids: numbers no two producers ever share, whatever crashes.

They come in blocks that the catalogue records durably before the first id of one is used; what is left of a block at
a stop is lost, as in Kafka. Invariant: an id returned by `next` was never returned before and never will be.
"""

from collections.abc import Callable, Iterator


class ProducerIds:
    """Hands out producer ids. `allocate_block` returns ids nobody has and never will; it may raise."""

    def __init__(self, allocate_block: Callable[[], range]) -> None:
        self._allocate_block = allocate_block
        self._left: Iterator[int] = iter(())

    def next(self) -> int:
        """A fresh id. Raises what the allocation raises (KAFKA_STORAGE_ERROR), and may be asked again."""
        for producer_id in self._left:
            return producer_id
        self._left = iter(self._allocate_block())
        return next(self._left)
