# compiled: mypyc
"""Batches whose topic requires validation, record by record, before they are appended: a walk in slices.

Knows batches and the settings they are walked for (storage/log/log_validator.py); not their senders, nor their results:
deferred_appends.py handles those.

Theory of operation: the cost of a walk depends on the client that compressed the batch, and may be a minute. So it is
done in slices, with rests (broker/runtime/scheduler.py), and a few walks take turns: a long one delays no others. A
walk that is over within its first slice, as nearly all are, waits for nothing. Most hold a chunk and a record; a record
has at most 100 MiB, and is in memory twice while it is read. A batch that is rebuilt is held whole, and where that
becomes large only one at a time continues. Only the compression of a rebuilt batch is done in a thread: it is one call,
which releases the interpreter lock. It begins when its walk has room, so a walk that is queued has nothing in a thread.

Invariants: no more than WALK.under_way_max walks hold memory between slices, and one of them a large rebuilt batch; the
batches that wait, until they are unparked, are counted as no more than WALKED_BYTES_MAX together, or there is one.
"""

from __future__ import annotations

from asyncio import Future
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.runtime.scheduler import SLICE_MS, CooperativeScheduler, Work, WorkClass
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.config import LogConfig
from barnabas.storage.log.log import PartitionLog
from barnabas.storage.log.log_validator import GROWS, check_head, walk_in_steps

if TYPE_CHECKING:
    from barnabas.protocol.primitives import Buffer

WALK = WorkClass(under_way_max=4, first_ms=SLICE_MS)
WALKED_BYTES_MAX = 64 << 20
BATCH_BYTES_MIN = 4 << 10
"""The least size that a waiting batch is counted as: the futures and the work that it waits with take as much."""


class TooManyWalks(KafkaError):
    """No room for one more batch that has to wait. The client may retry."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.NOT_LEADER_OR_FOLLOWER, "too many batches wait to be validated")


class PendingValidation(NamedTuple):
    """A batch that has to wait."""

    walked: Future[bytearray]
    """The batch as it should be appended; or AppendRefused; or cancelled, because the broker stops."""
    log: PartitionLog
    config: LogConfig
    """The settings it is walked for."""
    parked_bytes: int


class BatchValidations:
    """The walks of one broker."""

    def __init__(self, slices: CooperativeScheduler) -> None:
        self._slices = slices
        self._large: Future[None] | None = None
        """Done when no large batch is rebuilt any more."""
        self.parked_bytes = 0
        """Of batches that wait."""

    @property
    def is_closed(self) -> bool:
        """Whether the broker stops: nothing that has waited may be appended any more."""
        return self._slices.is_closed

    def walk(
        self, batch: Buffer, log: PartitionLog, now_ms: int, produce_version: int
    ) -> bytearray | PendingValidation:
        """Return the batch as it should be appended to the log; or it waits, as a copy, until it is unparked.

        Raises AppendRefused or TooManyWalks. A walk that is over in its first slice needs no room, and neither does the
        first batch that waits, however large it is.
        """
        size, config = len(batch), log.config
        if size > config.max_message_bytes:
            check_head(batch, config.max_message_bytes, produce_version)  # before the batch is copied
        walked = self._slices.in_slices(partial(self._steps, bytes(batch), config, now_ms, produce_version), WALK)
        if not isinstance(walked, Future):
            return walked
        parked_bytes = max(size, BATCH_BYTES_MIN)
        if self.parked_bytes and self.parked_bytes + parked_bytes > WALKED_BYTES_MAX:
            self._slices.give_up(walked)
            raise TooManyWalks
        self.parked_bytes += parked_bytes
        return PendingValidation(walked, log, config, parked_bytes)

    def walk_again(
        self, walking: PendingValidation, batch: bytearray, log: PartitionLog, now_ms: int, version: int
    ) -> PendingValidation:
        """Walk a walked batch again, for the current settings or another log, in its room. Raises AppendRefused."""
        config = log.config
        again = self._slices.in_slices(partial(self._steps, batch, config, now_ms, version), WALK)
        if not isinstance(again, Future):
            done: Future[bytearray] = self._slices.loop.create_future()
            done.set_result(again)
            again = done
        return PendingValidation(again, log, config, walking.parked_bytes)

    def unpark(self, walking: PendingValidation) -> None:
        """Free the room of a batch that is appended, or refused."""
        self.parked_bytes -= walking.parked_bytes

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
