"""Transactional producers against a whole broker in memory, with the deaths it can die.

Producers speak to the coordinator and the partitions as the handlers do; the clock stands still until a test moves it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from barnabas.broker.coordinator.transaction.decisions.model import (
    AddRequest,
    EndReply,
    EndRequest,
    InitReply,
    InitRequest,
    TopicPartition,
    TransactionMetadata,
)
from barnabas.broker.coordinator.transaction.transaction_coordinator import TransactionCoordinator
from barnabas.broker.runtime.clock import Stopwatch
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.hot.produce import PartitionResult
from barnabas.protocol.records.batch import iter_batches
from barnabas.protocol.records.record import iter_records
from tests.support.files.memory_files import MemoryFiles, PowerCut, Survival
from tests.support.virtual_clock import VirtualClock
from tests.support.worlds.broker import BrokerWorld, settle

T = TypeVar("T")
TIMEOUT_MS = 60_000
PARTITIONS = 3
STATE_PARTITIONS = 4


class TransactionalBroker:
    """A broker with topic "t" of `PARTITIONS` partitions."""

    def __init__(
        self,
        settings: dict[str, str] | None = None,
        files: MemoryFiles | None = None,
        stopwatch: Stopwatch = lambda: 0.0,
        machine_clock: VirtualClock | None = None,
        movable: bool = False,
    ) -> None:
        self.settings = {"transaction.state.log.num.partitions": str(STATE_PARTITIONS), **(settings or {})}
        self.files = files or MemoryFiles(0)
        self._cut: BaseException | None = None
        asyncio.get_running_loop().set_exception_handler(self._on_exception)
        self.broker = BrokerWorld(self.settings, self.files, stopwatch, machine_clock=machine_clock, movable=movable)
        if "t" not in self.broker.services.catalogue.topics:
            self.broker.services.catalogue.create_topic("t", PARTITIONS)

    @property
    def coordinator(self) -> TransactionCoordinator:
        return self.broker.services.transactions

    async def close(self) -> None:
        await self.broker.close()

    async def advance(self, delay_ms: float) -> None:
        self.broker.clock.advance(delay_ms)
        await settle()

    async def until(self, awaited: Awaitable[T], *, limit_ms: int = 60_000) -> T:
        """Its result, moving the clock on until it is there."""
        future = asyncio.ensure_future(awaited)
        for _ in range(limit_ms):
            await settle()
            if future.done():
                return future.result()
            if self._cut is not None:
                raise self._cut
            self.broker.clock.advance(1)
        raise AssertionError("not done in time")

    def _on_exception(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """The power may be cut in the flush thread; everything else is a bug."""
        if isinstance(context.get("exception"), PowerCut):
            self._cut = context["exception"]
        else:
            loop.default_exception_handler(context)

    # Death and birth

    async def restart(self, how: Survival | str = "kill") -> TransactionalBroker:
        """The broker of the next run, over what this one leaves; everything prepared is finished before it returns."""
        now_ms = self.broker.clock.now_ms()
        if how == "stop":
            await self.until(self.close())
        else:
            await self._flushed_so_far()
            self.files.crash("everything" if how == "kill" else how)  # type: ignore[arg-type]  # because kill is no survival
            self.broker.is_closed = True
        after = TransactionalBroker(self.settings, self.files)
        after.broker.clock.advance(now_ms - after.broker.clock.now_ms())
        await after.until(after.broker.broker.settle_transactions())
        return after

    async def _flushed_so_far(self) -> None:
        """What the flush thread meets, a cut of the power perhaps, is this run's: the next one is not to hear of it."""
        thread = self.broker.broker._flush_thread
        if thread is not None:
            await asyncio.get_running_loop().run_in_executor(thread, int)
            await settle()

    # What producers do

    async def init(self, transactional_id: str = "tx", *, timeout_ms: int = TIMEOUT_MS, **held: Any) -> InitReply:
        asked = InitRequest(transactional_id, timeout_ms, **held)
        found: InitReply = await self._reply(self.coordinator.init_producer_id(asked))
        return found

    async def producer(self, transactional_id: str = "tx", *, timeout_ms: int = TIMEOUT_MS) -> Producer:
        """A producer that retries until it has its id and epoch, as clients do."""
        while True:
            reply = await self.init(transactional_id, timeout_ms=timeout_ms)
            if reply.error is not ErrorCode.CONCURRENT_TRANSACTIONS:
                assert reply.error is ErrorCode.NONE, reply
                return Producer(self, transactional_id, reply.producer_id, reply.producer_epoch)
            await self.advance(20)

    async def written(self, *partitions: int, name: str = "tx") -> Producer:
        """A producer with a transaction of a record in each of these partitions."""
        producer = await self.producer(name)
        for partition in partitions:
            assert (await producer.send(b"v", partition)).error_code == ErrorCode.NONE
        return producer

    async def _reply(self, reply: Any) -> Any:
        return await self.until(reply) if isinstance(reply, asyncio.Future) else reply

    async def add(self, producer: Producer, *partitions: TopicPartition, version: int = 0) -> ErrorCode:
        asked = AddRequest(producer.transactional_id, producer.id, producer.epoch, frozenset(partitions), version)
        found: ErrorCode = await self._reply(self.coordinator.add_partitions(asked))
        return found

    async def end(self, producer: Producer, *, commit: bool, version: int = 2) -> EndReply:
        asked = EndRequest(producer.transactional_id, producer.id, producer.epoch, commit, version)
        found: EndReply = await self._reply(self.coordinator.end_transaction(asked))
        return found

    # What can be seen

    def txn(self, transactional_id: str = "tx") -> TransactionMetadata:
        found = self.coordinator.describe(transactional_id)
        assert found is not None
        return found

    def log(self, partition: int = 0, topic: str = "t") -> Any:
        return self.broker.services.partitions.get(topic, partition)

    def read(self, partition: int = 0, *, committed: bool = True, topic: str = "t") -> list[bytes | None]:
        """The values a consumer gets."""
        log = self.log(partition, topic)
        found = log.read(log.log_start_offset, 1 << 20, committed=committed, force_first_batch=True)
        data = memoryview(found.read_all())
        aborted = sorted(found.aborted or [], key=lambda txn: txn[1])
        values: list[bytes | None] = []
        for position, header in iter_batches(data):
            batch = data[position : position + header.size_in_bytes]
            if header.is_control:
                ended = next((txn for txn in aborted if txn[0] == header.producer_id), None)
                if ended is not None and ended[1] <= header.base_offset:
                    aborted.remove(ended)
            elif not any(
                header.is_transactional and producer_id == header.producer_id and first <= header.base_offset
                for producer_id, first in aborted
            ):
                values += [record.value for record in iter_records(batch)]
        return values

    def shown(self) -> list[int]:
        """How many records a reader of committed ones gets of each partition."""
        return [len(self.read(partition)) for partition in range(PARTITIONS)]

    def state_records(self) -> list[tuple[int, bytes | None]]:
        """(partition, value) of every record of `__transaction_state`."""
        found = []
        for partition in range(STATE_PARTITIONS):
            log = self.log(partition, "__transaction_state")
            data = memoryview(log.read(0, 1 << 24, committed=False, force_first_batch=True).read_all())
            for position, header in iter_batches(data):
                found += [
                    (partition, record.value)
                    for record in iter_records(data[position : position + header.size_in_bytes])
                ]
        return found


class Producer:
    """One transactional producer; sequences per partition, as a client counts them."""

    def __init__(self, world: TransactionalBroker, transactional_id: str, producer_id: int, epoch: int) -> None:
        self.world = world
        self.transactional_id = transactional_id
        self.id = producer_id
        self.epoch = epoch
        self.sequences: dict[TopicPartition, int] = {}

    async def send(
        self,
        value: bytes,
        partition: int = 0,
        *,
        topic: str = "t",
        version: int = 12,
        world: TransactionalBroker | None = None,
    ) -> PartitionResult:
        """Produce one record through the handler."""
        from barnabas.broker.api.handlers import produce
        from barnabas.broker.services import RequestContext

        world = world or self.world
        where = topic, partition
        batch = world.broker.batch(
            value, producer=(self.id, self.epoch, self.sequences.get(where, 0)), transactional=True
        )
        services = world.broker.services
        context = RequestContext(services, 0, version)
        name = services.catalogue.topics[topic].topic_id if version >= 13 else topic
        request = (self.transactional_id, -1, 1000, [(name, [(partition, memoryview(bytearray(batch)))])])
        answered = produce.handle(request, context)  # type: ignore[arg-type]  # because the topic is a name or an id
        produced = answered if isinstance(answered, list) else await world.until(answered)
        result: PartitionResult = produced[0][1][0]
        if result.error_code == ErrorCode.NONE:
            self.sequences[where] = self.sequences.get(where, 0) + 1
        return result

    async def end(self, *, commit: bool, version: int = 2) -> EndReply:
        """EndTxn; the producer continues with the id and epoch in the answer."""
        reply = await self.world.end(self, commit=commit, version=version)
        if reply.error is ErrorCode.NONE and version >= 2:
            if (self.id, self.epoch) != (reply.producer_id, reply.producer_epoch):
                self.sequences.clear()
            self.id, self.epoch = reply.producer_id, reply.producer_epoch
        return reply
