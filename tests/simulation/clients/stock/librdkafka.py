"""librdkafka's transactional producer, as `rdkafka_request.c`, `rdkafka_idempotence.c` and `rdkafka_txnmgr.c` have it.

It speaks the older protocol only. After an error that is tried again nothing is sent until everything of the partition
is answered ("drain"); then all of it goes again, with the same sequences, up to five requests at a time. A message is
given up after `message.timeout.ms` only while it waits, not on its way. Then, or after a gap, the transaction is
aborted, what waits is purged, what is on its way is waited for, and the coordinator raises the epoch ("drain and bump
epoch").
"""

from collections.abc import Iterator

from barnabas.protocol.errors import ErrorCode
from tests.simulation.clients.errors import TRY_AGAIN, Fenced, GaveUp, Unusable
from tests.simulation.clients.producer import Versions
from tests.simulation.clients.stock.lane import Lane
from tests.simulation.clients.stock.stock import StockProducer
from tests.simulation.history.history import Send


class LibrdkafkaProducer(StockProducer):
    """Transactional."""

    versions = Versions(init=4, add=0, add_offsets=0, end=1, produce=10, offsets=3)

    def _next(self, lane: Lane) -> Send | None:
        if self._error is not None:
            return None
        if lane.is_draining:
            if lane.flying or self._world.now_us < lane.backoff_until_us:
                return None
            lane.is_draining = False
        if len(lane.flying) >= self._in_flight:
            return None
        if lane.retrying:
            return lane.retrying[0]
        return lane.fresh[0] if lane.fresh else None

    def _refused(self, lane: Lane, send: Send, code: ErrorCode | None) -> None:
        if code is None or code in TRY_AGAIN:
            lane.is_draining = True
            self._again(lane, send)
        elif code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and send.sequence > lane.last_acked + 1:
            lane.is_draining = True
            self._again(lane, send)
            self._fail(Unusable("skipped sequence numbers"), needs_bump=True)
        else:
            self._has_failed(lane, send, code)
            is_fatal = code in (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
            self._fail(Fenced(code.name) if is_fatal else Unusable(code.name), needs_bump=False)

    def _expiring(self, lane: Lane) -> Iterator[Send]:
        yield from [*lane.retrying, *lane.fresh]

    def _gave_up(self, lane: Lane, send: Send) -> None:
        self._fail(GaveUp("message.timeout.ms"), needs_bump=True)

    def _drops(self, lane: Lane) -> list[Send]:
        return [*lane.retrying, *lane.fresh]
