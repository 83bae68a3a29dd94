"""The Java producer, as `TransactionManager`, `Sender` and `RecordAccumulator` have it (clients 4.x).

Up to five requests of a partition are on their way. What is to be sent again goes one at a time, lowest sequence first,
and nothing new before it. After `delivery.timeout.ms` a record is given up, also one that is on its way: an abortable
error, and with the older protocol the epoch is raised after the abort; one that is only idempotent raises its epoch
itself, once everything of the partition is answered and a sequence is missing.
"""

from collections.abc import Iterator

from barnabas.protocol.errors import ErrorCode
from tests.simulation.clients.errors import TRY_AGAIN, Fenced, GaveUp, Unusable
from tests.simulation.clients.stock.lane import Lane
from tests.simulation.clients.stock.stock import StockProducer
from tests.simulation.history.history import Send

_FATAL = frozenset({ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_ID_MAPPING})
"""INVALID_PRODUCER_EPOCH from Produce is none of them: the abort shows whether the producer is fenced (KIP-588)."""


class JavaProducer(StockProducer):
    """Its transaction manager's state is `_error`: abortable, or fatal if it is Fenced."""

    def _next(self, lane: Lane) -> Send | None:
        if len(lane.flying) >= self._in_flight or self._world.now_us < lane.backoff_until_us:
            return None
        if lane.retrying:  # shouldStopDrainBatchesForPartition
            first = lane.retrying[0]
            return first if first is next(lane.tracked()) else None
        if lane.unresolved is not None or (lane.flying and self._is_stale(lane)):
            return None
        return lane.fresh[0] if lane.fresh else None

    def _is_stale(self, lane: Lane) -> bool:
        return lane.producer != (self._id, self._epoch)

    def _refused(self, lane: Lane, send: Send, code: ErrorCode | None) -> None:
        if code is None or self._can_retry(lane, send, code):
            self._again(lane, send)
            return
        self._has_failed(lane, send, code)
        if self.transaction is None:
            self._raise_epoch(lane)
            return
        self._fail(Fenced(code.name) if code in _FATAL else Unusable(code.name), needs_bump=True)
        lane.close_gap(send)  # adjustSequencesDueToFailedBatch

    def _can_retry(self, lane: Lane, send: Send, code: ErrorCode) -> bool:
        """TransactionManager.canRetry."""
        if code is not ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            return code in TRY_AGAIN
        is_next = send.sequence == lane.last_acked + 1
        if lane.unresolved is None and (send.producer != lane.producer or not is_next):
            return True
        if self.transaction is not None:
            return False
        if lane.unresolved is None or send.sequence == lane.unresolved:
            self._raise_epoch(lane)
        return True

    def _expiring(self, lane: Lane) -> Iterator[Send]:
        yield from [*lane.fresh, *lane.tracked()]

    def _gave_up(self, lane: Lane, send: Send) -> None:
        self._fail(GaveUp("delivery.timeout.ms"), needs_bump=True)
        if send.tries > 1:  # Sender marks only what was in retry
            lane.unresolved = max(lane.unresolved or 0, send.sequence + 1)

    def _drops(self, lane: Lane) -> list[Send]:
        return list(lane.fresh)  # abortUndrainedBatches: what has a sequence is seen through

    def _rests(self, lane: Lane) -> None:
        """TransactionManager.maybeResolveSequences, and what a partition does that is behind its producer's epoch."""
        if lane.unresolved is not None:
            is_resolved = lane.next_sequence == lane.last_acked + 1
            lane.unresolved = None
            if not is_resolved and self.transaction is None:
                self._raise_epoch(lane)
            elif not is_resolved:
                self._fail(GaveUp("a sequence is missing"), needs_bump=True)
        if self._is_stale(lane):
            lane.begin_again((self._id, self._epoch))

    def _raise_epoch(self, lane: Lane) -> None:
        """What is only idempotent raises its epoch without asking; other partitions follow when they are drained."""
        self._epoch += 1
        self.incarnation.epoch = self._epoch
        lane.begin_again((self._id, self._epoch))
