"""What the models of stock producers share: windows per partition, records that are given up, an abort that goes on.

A model says which record may be sent next, what an answer means, and what a record that is given up costs
(`java.py`, `librdkafka.py`). An error that a transaction cannot be gone on with makes it abort, and where the older
protocol does not raise the epoch, InitProducerId does (KIP-360); after a fatal one a new producer is needed.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from tests.simulation.clients.errors import IS_WRITTEN, Fenced, Unusable
from tests.simulation.clients.producer import Producer
from tests.simulation.clients.stock.lane import Lane
from tests.simulation.history.history import Outcome, Send, TopicPartition, Transaction

_BACKOFF_US = 50_000


class StockProducer(Producer):
    """`_error` is what the transaction has met; nothing of it is begun any more then."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._lanes: dict[TopicPartition, Lane] = {}
        self._error: Fenced | Unusable | None = None
        self._needs_bump = False
        self._flights: dict[asyncio.Task[None], Send] = {}  # the loop holds tasks weakly

    # --- what a model says -----------------------------------------------------------------------------------------

    @abstractmethod
    def _next(self, lane: Lane) -> Send | None:
        """What may be sent now."""

    @abstractmethod
    def _refused(self, lane: Lane, send: Send, code: ErrorCode | None) -> None:
        """An answer that is an error, or None for none: it is tried again or has failed."""

    @abstractmethod
    def _expiring(self, lane: Lane) -> Iterator[Send]:
        """What may be given up when it is too old."""

    @abstractmethod
    def _gave_up(self, lane: Lane, send: Send) -> None:
        """A record was given up."""

    @abstractmethod
    def _drops(self, lane: Lane) -> list[Send]:
        """What is left out once the transaction has met an error."""

    def _rests(self, lane: Lane) -> None:
        """Nothing of the partition is on its way or to be sent again."""

    # --- lives and transactions ------------------------------------------------------------------------------------

    def _become(self, producer_id: int, epoch: int) -> None:
        super()._become(producer_id, epoch)
        self._lanes.clear()
        self._error, self._needs_bump = None, False

    def begin(self) -> Transaction:
        self._error = None
        return super().begin()

    async def end(self, *, commit: bool) -> None:
        transaction = self.transaction
        assert transaction is not None
        if self._protocol == 1 and not self._added and not self._has_added_group:
            transaction.is_commit, transaction.outcome, self.transaction = commit, Outcome.OK, None
            return  # nobody was told of it
        await super().end(commit=commit)

    async def recover(self, error: Unusable) -> None:
        needs_bump = self._needs_bump and self._protocol == 1
        if self.transaction is not None:
            await self.end(commit=False)
        if needs_bump:
            await self._bump()

    async def _bump(self) -> None:
        """Ask the coordinator for the next epoch, as the producer that it has (KIP-360)."""
        request = InitProducerIdRequest(
            transactional_id=self._transactional_id,
            transaction_timeout_ms=self._timeout_ms,
            producer_id=self._id,
            producer_epoch=self._epoch,
        )
        answer = await self._until_answered(request, self._versions.init, lambda answer: answer.error_code)
        if answer.error_code != ErrorCode.NONE:
            raise Fenced(ErrorCode(answer.error_code).name)
        self._become(answer.producer_id, answer.producer_epoch)

    # --- records ---------------------------------------------------------------------------------------------------

    async def send(self, at: TopicPartition, count: int, sources: Sequence[str] = ()) -> None:
        if self.transaction is not None and self._protocol == 1 and at not in self._added:
            await self._add(at)
        lane = self._lanes.setdefault(at, Lane((self._id, self._epoch)))
        for index in range(count):
            send = self._record(at, sources[index] if sources else "")
            send.tries = 0
            lane.fresh.append(send)
        while True:
            self._look(lane)
            if lane.is_empty:
                break
            while self._may_send(lane) and (found := self._next(lane)) is not None:
                self._fly(lane, found)
            await self._hear(lane)
        if self._error is not None and self.transaction is not None:
            raise self._error

    def _may_send(self, lane: Lane) -> bool:
        """Whether what is sent now cannot overtake what a lost connection has taken with it."""
        return self._wire.is_connected or not lane.flying

    def _fail(self, error: Fenced | Unusable, *, needs_bump: bool) -> None:
        """The transaction cannot be gone on with. The first error stays, but for a fatal one."""
        if self.transaction is not None and not isinstance(self._error, Fenced):
            if self._error is None or isinstance(error, Fenced):
                self._error = error
            self._needs_bump |= needs_bump

    def _look(self, lane: Lane) -> None:
        """Give up what is too old, and everything that an error makes pointless."""
        for send in [each for each in self._expiring(lane) if self._is_too_old(each)]:
            self._leave_out(lane, send, "given up")
            self._gave_up(lane, send)
        if self._error is not None:
            everything = [*lane.fresh, *lane.tracked()]
            for send in everything if isinstance(self._error, Fenced) else self._drops(lane):
                self._leave_out(lane, send, "aborted")
        if not lane.retrying and not lane.flying:
            self._rests(lane)

    def _leave_out(self, lane: Lane, send: Send, why: str) -> None:
        lane.drop(send)
        send.ended_us, send.error = self._world.now_us, why
        send.outcome = Outcome.UNKNOWN if send.tries else Outcome.FAILED

    def _fly(self, lane: Lane, send: Send) -> None:
        """Send it, for the first time or again."""
        if send in lane.fresh:
            lane.number(send)
        lane.drop(send)
        is_alone = not lane.flying
        lane.flying.append(send)
        send.tries += 1
        flight = asyncio.get_running_loop().create_task(self._flight(lane, send, is_alone))
        self._flights[flight] = send
        flight.add_done_callback(self._flights.pop)

    async def _flight(self, lane: Lane, send: Send, is_alone: bool) -> None:
        """Others of the partition are lost with their connection, and do not get another one each."""
        can_arrive = is_alone or self._wire.is_connected
        answer, port = await self._produce(send) if can_arrive else (None, 0)
        lane.news.put_nowait((send, answer, port))

    async def _hear(self, lane: Lane) -> None:
        """Wait for an answer, or until there is something to be done without one."""
        try:
            async with asyncio.timeout(self._until_due_s(lane)):
                send, answer, port = await lane.news.get()
        except TimeoutError:
            return
        self._answered(lane, send, answer, port)

    def _until_due_s(self, lane: Lane) -> float | None:
        now_us = self._world.now_us
        due = [lane.backoff_until_us] if lane.backoff_until_us > now_us and not lane.flying else []
        if self._delivery_us:
            due += [each.began_us + self._delivery_us for each in self._expiring(lane)]
        return max(1, min(due) - now_us) / 1e6 if due else None

    def _answered(self, lane: Lane, send: Send, answer: Any, port: int) -> None:
        if send not in lane.flying:
            return  # it was given up meanwhile
        code = None if answer is None else ErrorCode(answer.error_code)
        if code not in IS_WRITTEN:
            send.error = "" if code is None else code.name
            self._refused(lane, send, code)
            return
        lane.drop(send)
        lane.last_acked = max(lane.last_acked, send.sequence)
        send.ended_us, send.outcome, send.error, send.port = self._world.now_us, Outcome.OK, "", port
        send.offset = answer.base_offset if answer.base_offset >= 0 else None

    def _again(self, lane: Lane, send: Send) -> None:
        """It is tried again, after a while."""
        lane.drop(send)
        lane.try_again(send)
        lane.backoff_until_us = self._world.now_us + _BACKOFF_US

    def _has_failed(self, lane: Lane, send: Send, code: ErrorCode | None) -> None:
        """The broker refused it for good."""
        lane.drop(send)
        send.ended_us = self._world.now_us
        send.outcome = Outcome.FAILED if send.tries == 1 else Outcome.UNKNOWN
