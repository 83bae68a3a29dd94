"""The decisions about transactions on virtual time and a log in memory, with producer ids that count up from 1000.

Markers are not written here: a prepared transaction waits in `prepared` until `finish` reports all of them as written.
`crash` drops all state and loads the log again.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from barnabas.broker.coordinator.runtime.loading import Loader
from barnabas.broker.coordinator.runtime.outcome import Effect, FinishTransaction, Outcome
from barnabas.broker.coordinator.runtime.shard import Shard
from barnabas.broker.coordinator.transaction.decisions import adding, completing, ending, initialising, timeouts
from barnabas.broker.coordinator.transaction.decisions.model import (
    AddRequest,
    EndReply,
    EndRequest,
    InitReply,
    InitRequest,
    Marker,
    TopicPartition,
    TransactionConfig,
    TransactionMetadata,
    TransactionStored,
)
from barnabas.broker.coordinator.transaction.decisions.transaction_machine import TransactionMachine
from barnabas.protocol.errors import ErrorCode, KafkaError
from tests.support.virtual_clock import VirtualClock
from tests.support.worlds.memory_topic import MemoryTopic

PARTITION = 0
FIRST_PRODUCER_ID = 1000


class TransactionWorld:
    """One partition of `__transaction_state` and its coordinator."""

    def __init__(self, config: TransactionConfig | None = None, transaction_version: int = 2) -> None:
        self.config = config or TransactionConfig()
        self.transaction_version = transaction_version
        self.loop = asyncio.new_event_loop()
        self.topic = MemoryTopic()
        self.topic.name = "__transaction_state"
        self.clock = VirtualClock()
        self.prepared: list[str] = []
        """The ids whose markers are to be written, in order."""
        self.markers: list[tuple[str, Marker]] = []
        """What was written to the partitions of every transaction finished so far."""
        self.may_allocate = True
        self._ids_given = 0
        self.machine, self.shard = self._load()

    def __enter__(self) -> TransactionWorld:
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.close()

    def _load(self) -> tuple[TransactionMachine, Shard[TransactionStored, None]]:
        machine = TransactionMachine(lambda: self.transaction_version)
        loader = Loader(self.topic, PARTITION, machine)
        while not loader.step():
            pass
        self.prepared = machine.prepared()
        shard = Shard(PARTITION, machine, self.topic, self.clock, self.loop.create_future, perform=self._perform)
        return machine, shard

    def _perform(self, transactional_id: str, effect: Effect) -> None:
        assert isinstance(effect, FinishTransaction)
        self.prepared.append(transactional_id)

    def crash(self) -> None:
        """kill -9, and a start over the same log."""
        self.machine, self.shard = self._load()

    def write(self, txn: TransactionMetadata) -> None:
        """A record of another coordinator, as found in the log."""
        self.topic.append(PARTITION, [self.machine.encode(TransactionStored(txn.transactional_id, txn))], 0)
        self.crash()

    def transaction(self, transactional_id: str = "x") -> TransactionMetadata | None:
        return self.machine.transaction(transactional_id)

    def _now_ms(self) -> int:
        return self.clock.now_ms()

    def fresh_producer_id(self) -> int:
        if not self.may_allocate:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "no producer ids")
        self._ids_given += 1
        return FIRST_PRODUCER_ID + self._ids_given - 1

    # Requests

    def initialise(self, request: InitRequest) -> InitReply:
        outcome = initialising.initialise(
            self.transaction(request.transactional_id),
            request,
            now_ms=self._now_ms(),
            config=self.config,
            transaction_version=self.transaction_version,
            fresh_producer_id=self.fresh_producer_id,
        )
        reply: InitReply = self.shard.execute(request.transactional_id, outcome)
        return reply

    def add(self, request: AddRequest) -> ErrorCode:
        outcome = adding.add(self.transaction(request.transactional_id), request, now_ms=self._now_ms())
        reply: ErrorCode = self.shard.execute(request.transactional_id, outcome)
        return reply

    def verify(self, transactional_id: str, producer_id: int, producer_epoch: int, *partitions: TopicPartition) -> Any:
        return adding.verify(self.transaction(transactional_id), producer_id, producer_epoch, partitions)

    def end(self, request: EndRequest) -> EndReply:
        outcome = ending.end(
            self.transaction(request.transactional_id),
            request,
            now_ms=self._now_ms(),
            fresh_producer_id=self.fresh_producer_id,
        )
        reply: EndReply = self.shard.execute(request.transactional_id, outcome)
        return reply

    # What happens by itself

    def finish(self) -> None:
        """All markers of all prepared transactions are written."""
        prepared, self.prepared = self.prepared, []
        for transactional_id in prepared:
            txn = self.transaction(transactional_id)
            assert txn is not None
            self.markers.append((transactional_id, completing.marker(txn)))
            try:
                self.shard.execute(transactional_id, completing.complete(txn, now_ms=self._now_ms()))
            except KafkaError:
                self.prepared.append(transactional_id)

    def sweep(self) -> None:
        """Abort transactions open for too long, remove ids unused for long."""
        for txn in list(self.machine.transactions.values()):
            if timeouts.timed_out(txn, self._now_ms()):
                outcome = ending.abort_for_fencing(
                    txn,
                    now_ms=self._now_ms(),
                    transaction_version=self.transaction_version,
                    fresh_producer_id=self.fresh_producer_id,
                )
            else:
                outcome = timeouts.expired(txn, self._now_ms(), self.config) or Outcome()
            with suppress(KafkaError):  # what cannot be written now is looked for again
                self.shard.execute(txn.transactional_id, outcome)
