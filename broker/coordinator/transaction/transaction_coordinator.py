# compiled: mypyc
"""The transaction coordinator: the interface for the request handlers.

Finds the partition of a transactional id, calls the decisions in `decisions/`, and has the runtime carry them out.
Methods return their reply, or a future of it where the request has to wait for the disk. They raise KafkaError where
Kafka returns an error for the whole request. The pure part is in `decisions/`; writing and waiting are in `runtime`;
markers are in `transaction_marker_writer.py`. This module connects them, and reads the clock: transactions that time
out (`decisions/timeouts.py`) are aborted, unused ids expire, partitions that could not be loaded are retried.

Invariant: each transaction prepared by a request, by its timeout or by the run before will be completed: the code that
prepares it, or finds it when a partition is loaded, starts finishing it.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar

from barnabas.broker.coordinator.runtime.coordinator_partitions import (
    CoordinatorPartition,
    CoordinatorPartitions,
    OwnedTopic,
)
from barnabas.broker.coordinator.runtime.decision_listener import ListenerFactory
from barnabas.broker.coordinator.runtime.outcome import Effect
from barnabas.broker.coordinator.runtime.partition_for import check_transactional_id
from barnabas.broker.coordinator.runtime.replies_after_sync import log_if_not_synced
from barnabas.broker.coordinator.runtime.shard import Shard
from barnabas.broker.coordinator.transaction.completion_waits import TransactionCompletionWaits
from barnabas.broker.coordinator.transaction.decisions import adding, completing, ending, initialising, timeouts
from barnabas.broker.coordinator.transaction.decisions.model import (
    AddRequest,
    EndReply,
    EndRequest,
    InitReply,
    InitRequest,
    TopicPartition,
    TransactionConfig,
    TransactionMetadata,
    TransactionOutcome,
    TransactionStored,
)
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.broker.coordinator.transaction.decisions.transaction_machine import TransactionMachine
from barnabas.broker.coordinator.transaction.offset_markers import OffsetMarkers
from barnabas.broker.coordinator.transaction.transaction_config import transaction_config
from barnabas.broker.coordinator.transaction.transaction_marker_writer import TransactionMarkerWriter
from barnabas.broker.runtime.clock import Clock, Timer
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.runtime.replies import Reply
from barnabas.broker.runtime.scheduler import CooperativeScheduler, Work, WorkClass
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.files.names import TRANSACTION_STATE_TOPIC
from barnabas.protocol.records.control import EndTxnMarker

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.metadata.catalogue import Catalogue
    from barnabas.broker.partitions.partitions import Partitions

_log = logger("coordinator")

T = TypeVar("T")
TransactionPartition: TypeAlias = CoordinatorPartition[TransactionMachine]

TRANSACTION_VERSION = "transaction.version"
SWEEP = WorkClass(under_way_max=1_000, slice_ms=5, may_begin_again=False)
_RETRY_MS = 1_000
# Compiled, the look-up of an enum's member takes as long as a call.
_NONE: Final = ErrorCode.NONE
_PREPARE_COMMIT: Final = TransactionState.PREPARE_COMMIT
_new_tuple: Final = tuple.__new__  # half the cost of a NamedTuple's constructor


class TransactionTopic(OwnedTopic, Protocol):
    """`__transaction_state`."""

    def leader_epoch(self, partition: int) -> int:
        """Return the leader epoch of the partition in this run: the coordinator epoch of markers."""

    def answers_at_once(self, partition: int) -> bool:
        """Return whether appended records need no wait."""


class TransactionCoordinator:
    """The transaction coordinator of this broker, for all its transactional ids."""

    def __init__(
        self,
        *,
        topic: TransactionTopic,
        markers: TransactionMarkerWriter,
        config: TransactionConfig,
        clock: Clock,
        machine_clock: Clock,
        upkeep: CooperativeScheduler,
        fresh_producer_id: Callable[[], int],
        transaction_version: Callable[[], int],
        after_answer: Callable[[Callable[[], None]], None],
        listener_factory: ListenerFactory | None = None,
    ) -> None:
        """Create the coordinator. `transaction_version` is called at each decision; `fresh_producer_id` may raise.

        `after_answer` calls a function once the request that is being served is answered; now if none is.
        """
        self.config = config
        self.markers = markers
        self._topic = topic
        self.clock = clock
        self._machine_clock = machine_clock
        self._fresh_producer_id = fresh_producer_id
        self._transaction_version = transaction_version
        self._after_answer = after_answer
        self._listener_factory = listener_factory
        self.upkeep = upkeep
        self._create_future = upkeep.loop.create_future
        self._partitions = CoordinatorPartitions(topic, machine_clock, upkeep, self._build, self._on_loaded)
        self.unsynced = self._partitions.unsynced
        self._timers: dict[str, Timer] = {}
        self._sweeps: set[Future[None]] = set()  # unfinished ones
        self.timed_out = 0
        self._deciding: set[Future[Any]] = set()  # decisions to end a transaction that wait for the disk
        self._is_stopping = False
        self.completions = TransactionCompletionWaits(clock, upkeep.loop)
        self._arm("timeouts", config.abort_check_interval_ms, self.abort_timed_out)
        self._arm("expiry", config.remove_check_interval_ms, self._expire)

    @classmethod
    def open(
        cls,
        config: BrokerConfig,
        *,
        catalogue: Catalogue,
        partitions: Partitions,
        offsets: Callable[[], OffsetMarkers],
        clock: Clock,
        machine_clock: Clock,
        upkeep: CooperativeScheduler,
        fresh_producer_id: Callable[[], int],
        after_answer: Callable[[Callable[[], None]], None],
        listener_factory: ListenerFactory | None = None,
        marked: Partitions | None = None,
    ) -> TransactionCoordinator:
        """Open the coordinator of a node; `offsets` and `marked` (default: `partitions`) take the markers."""
        from barnabas.broker.coordinator.runtime.topic import CoordinatorTopic, TopicDeletions

        events = None if listener_factory is None else listener_factory.events
        coordinator = cls(
            topic=CoordinatorTopic(TRANSACTION_STATE_TOPIC, catalogue, partitions),
            markers=TransactionMarkerWriter(
                marked or partitions, offsets, clock=machine_clock, upkeep=upkeep, events=events
            ),
            config=transaction_config(config),
            clock=clock,
            machine_clock=machine_clock,
            upkeep=upkeep,
            fresh_producer_id=fresh_producer_id,
            transaction_version=lambda: catalogue.feature_level(TRANSACTION_VERSION),
            after_answer=after_answer,
            listener_factory=listener_factory,
        )
        catalogue.subscribe(TopicDeletions(coordinator.on_topic_deleted))
        return coordinator

    def close(self) -> None:
        """Stop the coordinator with the broker: waiting requests get the error to find the coordinator again."""
        for timer in self._timers.values():
            timer.cancel()
        self.markers.close()
        self._partitions.close()

    def resign(self, index: int) -> None:
        """Give up the partition: another node coordinates its ids from now on."""
        self._partitions.resign(index)

    def prepare(self, transactional_id: str) -> int:
        """Return the partition of the id for a FindCoordinator; start to load it if this node leads it.

        Raises KafkaError if the topic does not exist.
        """
        return self._partitions.prepare(transactional_id)

    # Requests

    def init_producer_id(self, request: InitRequest) -> Reply[InitReply]:
        """Handle InitProducerId with a transactional id."""
        self._check_request(request.transactional_id)
        version = self._transaction_version()
        error = initialising.refusal(request, config=self.config, transaction_version=version)
        if error is not _NONE:
            return InitReply(error)
        partition = self._partitions.of(request.transactional_id)
        outcome = initialising.initialise(
            partition.machine.transaction(request.transactional_id),
            request,
            now_ms=self.clock.now_ms(),
            config=self.config,
            transaction_version=version,
            fresh_producer_id=self._fresh_producer_id,
        )
        return self._execute(partition, request.transactional_id, outcome)

    def add_partitions(self, request: AddRequest, *, emits_refusal: bool = True) -> Reply[ErrorCode]:
        """Handle AddPartitionsToTxn, AddOffsetsToTxn, and the additions by Produce and TxnOffsetCommit."""
        check_transactional_id(request.transactional_id)
        partition = self._partitions.of(request.transactional_id)
        txn = partition.machine.transaction(request.transactional_id)
        outcome = adding.add(txn, request, now_ms=self.clock.now_ms())
        answer: ErrorCode = outcome.reply
        if answer is not _NONE and not emits_refusal:
            return answer
        return self._execute(partition, request.transactional_id, outcome)

    def answers_at_once(self, transactional_id: str) -> bool:
        """Return whether no reply about this id waits for the disk. Raises KafkaError if the topic does not exist."""
        return self._topic.answers_at_once(self._partitions.index_of(transactional_id))

    def verify_partitions(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, ErrorCode]:
        """Return the verdict of each partition: whether it is in the transaction; nothing changes."""
        check_transactional_id(transactional_id)
        txn = self._partitions.of(transactional_id).machine.transaction(transactional_id)
        return adding.verify(txn, producer_id, producer_epoch, partitions)

    def end_transaction(self, request: EndRequest) -> Reply[EndReply]:
        """Handle EndTxn. If there is nothing to wait for, the transaction is complete once the answer is sent."""
        self._check_request(request.transactional_id)
        partition = self._partitions.of(request.transactional_id)
        txn = partition.machine.transaction(request.transactional_id)
        outcome = ending.end(txn, request, now_ms=self.clock.now_ms(), fresh_producer_id=self._fresh_producer_id)
        return self._execute(partition, request.transactional_id, outcome)

    # Reads

    def describe(self, transactional_id: str) -> TransactionMetadata | None:
        """Return the current state of one transaction, or None. Raises KafkaError."""
        check_transactional_id(transactional_id)
        return self._partitions.of(transactional_id).machine.transaction(transactional_id)

    def transactions(self) -> list[TransactionMetadata]:
        """Return all transactions. Raises KafkaError while a partition loads."""
        return [txn for partition in self._partitions.every() for txn in partition.machine.transactions.values()]

    def loaded(self) -> Iterator[TransactionPartition]:
        """Return the partitions that are loaded: for tests and for inspection."""
        return self._partitions.loaded()

    # Start and stop, which prepared_transactions.py waits for

    def load_all(self) -> None:
        """Begin to load every partition that is not loaded, and to finish prepared transactions."""
        for index in self._partitions.led():
            self._partitions.begin(index)

    def load_in_background(self) -> None:
        """Load everything in the background after a clean stop, so that open transactions can time out."""
        self._partitions.load_in_background(self._partitions.led(), lambda: self._is_stopping)

    def stop_deciding(self) -> None:
        """Refuse requests from now on: the broker is about to stop."""
        self._is_stopping = True
        self.markers.let_all_go()

    def deciding(self) -> list[Future[Any]]:
        """Return what may still prepare transactions: decisions that wait for the disk, partition loads and sweeps."""
        return [*self._deciding, *self._sweeps, *self._partitions.loading()]

    @property
    def has_finished_all(self) -> bool:
        """Whether all requested partitions are loaded, and no transaction in them is prepared."""
        return self._partitions.are_ready and not any(it.machine.prepared() for it in self._partitions.loaded())

    def _check_request(self, transactional_id: str) -> None:
        check_transactional_id(transactional_id)
        if self._is_stopping:  # otherwise a stop would wait as long as clients end transactions
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the coordinator is shutting down")

    def _build(self, index: int) -> tuple[TransactionMachine, Shard[TransactionStored, None]]:
        machine = TransactionMachine(self._transaction_version)
        shard = Shard(
            index,
            machine,
            self._topic,
            self.clock,
            self._create_future,
            perform=partial(self._perform, index),
            listener_factory=self._listener_factory,
        )
        return machine, shard

    def _execute(self, partition: TransactionPartition, transactional_id: str, outcome: TransactionOutcome) -> Reply[T]:
        reply: Reply[T] = partition.shard.execute(transactional_id, outcome)
        if outcome.effects and isinstance(reply, Future):
            self._deciding.add(reply)
            reply.add_done_callback(self._deciding.discard)
        return reply

    def _execute_unasked(
        self, partition: TransactionPartition, transactional_id: str, outcome: TransactionOutcome, what: str
    ) -> bool:
        """Carry out a decision without a waiting request; return False if it could not be written."""
        try:
            reply: Reply[None] = self._execute(partition, transactional_id, outcome)
        except KafkaError as refusal:
            _log.warning(line(f"{what} refused", transactional_id=transactional_id, reason=refusal))
            return False
        if isinstance(reply, Future):
            reply.add_done_callback(log_if_not_synced)
        return True

    def _perform(self, index: int, transactional_id: str, effect: Effect) -> None:
        partition = self._partitions.at(index)
        if self._listener_factory is not None and self._listener_factory.events.is_on:
            self._finish(partition, transactional_id)  # now, while the request is the cause of events
        else:
            self._after_answer(partial(self._finish, partition, transactional_id))

    def _finish(self, partition: TransactionPartition, transactional_id: str) -> None:
        """Write the markers of a prepared transaction, and complete it."""
        txn = partition.machine.transaction(transactional_id)
        if txn is None or not txn.state.is_prepared or partition.shard.is_closed:
            return
        producer_id, producer_epoch, is_commit = completing.marker(txn)
        try:
            coordinator_epoch = self._topic.leader_epoch(partition.index)
        except KafkaError as refusal:
            _log.error(line("transaction not finished yet", transactional_id=transactional_id, reason=refusal))
            self._machine_clock.call_later(_RETRY_MS, partial(self._finish, partition, transactional_id))
            return
        fields = is_commit, producer_id, producer_epoch, coordinator_epoch, -1, self.clock.now_ms()
        self.markers.finish(
            transactional_id,
            _new_tuple(EndTxnMarker, fields),
            txn.partitions,
            transaction_version=txn.client_transaction_version,
            done=partial(self._complete, partition, transactional_id),
        )

    def _complete(self, partition: TransactionPartition, transactional_id: str) -> bool:
        txn = partition.machine.transaction(transactional_id)
        if txn is None or not txn.state.is_prepared or partition.shard.is_closed:
            return True  # the topic was deleted in the meantime
        outcome = completing.complete(txn, now_ms=self.clock.now_ms())
        if not self._execute_unasked(partition, transactional_id, outcome, "completion"):
            return False
        self.completions.completed(transactional_id, is_commit=txn.state is _PREPARE_COMMIT)
        return True

    def _on_loaded(self, partition: TransactionPartition) -> None:
        prepared = partition.machine.prepared()
        if prepared:
            _log.info(line("finishing prepared transactions", partition=partition.index, count=len(prepared)))
            self._sweep(partition, prepared, self._finish)

    def on_topic_deleted(self, topic: str) -> None:
        """Forget all transactions if `__transaction_state` was deleted; deletions of other topics need no action."""
        if topic == TRANSACTION_STATE_TOPIC:
            self._partitions.forget()

    # The clock

    def _arm(self, name: str, interval_ms: int, action: Callable[[], None]) -> None:
        delay_ms = self.clock.until_next(interval_ms)
        # The clock may jump ahead, but not past the next timeout.
        if delay_ms > interval_ms and name == "timeouts":
            found = (txn for each in self._partitions.loaded() for txn in each.machine.transactions.values())
            delay_ms = min(delay_ms, timeouts.until_timeout_ms(found, self.clock.now_ms(), interval_ms))
        self._timers[name] = self.clock.call_later(delay_ms, partial(self._run, name, interval_ms, action))

    def _run(self, name: str, interval_ms: int, action: Callable[[], None]) -> None:
        self._arm(name, interval_ms, action)
        action()

    def abort_timed_out(self) -> None:
        """Abort transactions that are open for longer than their timeout."""
        for index in self._partitions.failed():
            self._partitions.begin(index)  # open transactions there block readers, too
        for partition in self._partitions.loaded():
            self._sweep(partition, list(partition.machine.transactions), self._abort_if_timed_out)

    def _abort_if_timed_out(self, partition: TransactionPartition, transactional_id: str) -> None:
        txn, now_ms = partition.machine.transaction(transactional_id), self.clock.now_ms()
        if txn is not None and txn.state.is_prepared and self._topic.unsynced(partition.index) is None:
            self._finish(partition, transactional_id)  # if no job does: an earlier sync failed, so it was not begun
        if txn is None or not timeouts.timed_out(txn, now_ms):
            return
        _log.info(line("transaction timed out", transactional_id=transactional_id, timeout_ms=txn.timeout_ms))
        try:
            outcome = ending.abort_for_fencing(
                txn,
                now_ms=now_ms,
                transaction_version=self._transaction_version(),
                fresh_producer_id=self._fresh_producer_id,
            )
        except KafkaError as refusal:
            _log.warning(line("abort refused", transactional_id=transactional_id, reason=refusal))
            return
        self.timed_out += self._execute_unasked(partition, transactional_id, outcome, "abort")

    def _expire(self) -> None:
        for partition in self._partitions.loaded():
            self._sweep(partition, list(partition.machine.transactions), self._remove_if_expired)

    def _remove_if_expired(self, partition: TransactionPartition, transactional_id: str) -> None:
        txn = partition.machine.transaction(transactional_id)
        outcome = None if txn is None else timeouts.expired(txn, self.clock.now_ms(), self.config)
        if outcome is not None:
            self._execute_unasked(partition, transactional_id, outcome, "removal")

    def _sweep(
        self, partition: TransactionPartition, ids: list[str], action: Callable[[TransactionPartition, str], None]
    ) -> None:
        """Call the action for each of these ids; if it takes long, other work runs in between."""
        swept = self.upkeep.in_slices(partial(_act_on_each, partition, ids, action), SWEEP)
        if isinstance(swept, Future):
            self._sweeps.add(swept)
            swept.add_done_callback(self._sweeps.discard)


def _act_on_each(
    partition: TransactionPartition, ids: list[str], action: Callable[[TransactionPartition, str], None]
) -> Work[None]:
    while ids and not partition.shard.is_closed:
        action(partition, ids.pop())
        yield None
