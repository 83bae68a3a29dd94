"""Batches that a topic wants looked into, record by record, before they are appended: a walk in slices.

Knows batches and the settings they are walked for (storage/log/validate.py); not who sent them, nor what becomes of
them.

Theory of operation: what a walk costs is decided by whoever compressed the batch, and may be a minute. So it is done in
slices, with rests (broker/slices.py), and a few walks take turns: one long one holds up no others. A walk that is over
within its first slice, as nearly all are, waits for nothing. Most hold a chunk and a record, at most 100 MiB; a batch
that is rebuilt is held whole, and where that is large only one at a time goes on with it. Only the compression of a
rebuilt batch is done in a thread: it is one call, which lets go of the interpreter's lock. It begins when its walk has
room, so a walk that is put into the line has nothing in a thread.

Invariants: no more than WALK.under_way_max walks hold memory between slices, and one of them a large rebuilt batch;
the batches of those that are not over take no more than WALKED_BYTES_MAX together, or there is only one.
"""

from __future__ import annotations

from asyncio import Future
from functools import partial
from typing import TYPE_CHECKING

from barnabas.broker.slices import SLICE_MS, Kind, Slices, Work
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.log.validate import GROWS, check_head, walk_in_steps

if TYPE_CHECKING:
    from barnabas.protocol.primitives import Buffer
    from barnabas.storage.config import LogConfig

WALK = Kind(under_way_max=4, first_ms=SLICE_MS)
WALKED_BYTES_MAX = 64 << 20


class TooManyWalks(KafkaError):
    """No room for one more batch that has to wait. It may come again."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.NOT_LEADER_OR_FOLLOWER, "too many batches wait to be looked into")


class Walks:
    """The walks of one broker."""

    def __init__(self, slices: Slices) -> None:
        self._slices = slices
        self._large: Future[None] | None = None
        """Done when no large batch is rebuilt any more."""
        self.parked_bytes = 0
        """Of batches whose walk is not over."""

    def walk(
        self, batch: Buffer, config: LogConfig, now_ms: int, produce_version: int
    ) -> bytearray | Future[bytearray]:
        """The batch as it should be appended, perhaps later. AppendRefused, or TooManyWalks; `batch` is copied.

        What is over in its first slice needs no room, and neither does the first that waits, however large it is.
        """
        size = len(batch)
        if size > config.max_message_bytes:
            check_head(batch, config.max_message_bytes, produce_version)  # before so much is copied
        walked = self._slices.in_slices(partial(self._steps, bytes(batch), config, now_ms, produce_version), WALK)
        if isinstance(walked, Future):
            if self.parked_bytes and self.parked_bytes + size > WALKED_BYTES_MAX:
                self._slices.give_up(walked)
                raise TooManyWalks
            self.parked_bytes += size
            walked.add_done_callback(partial(self._unpark, size))
        return walked

    def _unpark(self, size: int, _: Future[bytearray]) -> None:
        self.parked_bytes -= size

    def _steps(self, batch: Buffer, config: LogConfig, now_ms: int, produce_version: int) -> Work[bytearray]:
        walking = walk_in_steps(batch, config, now_ms, produce_version)
        mine: Future[None] | None = None
        try:
            while True:
                step = next(walking)
                if step is not GROWS:
                    yield step
                elif mine is None:
                    while self._large is not None:
                        yield self._large
                    self._large = mine = self._slices.loop.create_future()
                    yield None
                else:
                    yield None
        except StopIteration as end:
            walked: bytearray = end.value
            return walked
        finally:
            walking.close()
            if mine is not None:
                self._large = None
                mine.set_result(None)
