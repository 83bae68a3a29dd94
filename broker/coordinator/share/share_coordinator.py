# compiled: mypyc
"""The share coordinator: the interface for the request handlers and the persister.

Finds the partition of `__share_group_state` for a share partition, calls the decisions in `decisions/`, and has the
runtime carry them out. Methods return their reply, or a future of it where the request has to wait for the disk, or for
a test that pauses it before or after its record is written. They raise KafkaError. Two
actions are repeated at intervals: snapshots that are old are written again, and the log is deleted before the oldest
snapshot that is needed, so that it stays short. The states of a deleted topic are deleted.

Invariant: a state changes only by a record in the log; no reply is sent before its record is durable.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from barnabas.broker.coordinator.runtime.coordinator_partitions import (
    CoordinatorPartition,
    CoordinatorPartitions,
    OwnedTopic,
)
from barnabas.broker.coordinator.runtime.outcome import as_coordinator_error
from barnabas.broker.coordinator.runtime.replies_after_sync import log_if_not_synced
from barnabas.broker.coordinator.runtime.shard import Shard
from barnabas.broker.coordinator.share.decisions import deciding
from barnabas.broker.coordinator.share.decisions.keys import key_text, parse_key
from barnabas.broker.coordinator.share.decisions.model import ShareOutcome, ShareRecord, ShareState, TrackedShareState
from barnabas.broker.coordinator.share.decisions.share_machine import ShareMachine
from barnabas.broker.coordinator.share.share_config import ShareCoordinatorConfig, share_coordinator_config
from barnabas.broker.runtime.clock import Clock, Timer
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.runtime.replies import Reply, reply_to
from barnabas.broker.runtime.scheduler import CooperativeScheduler, Work, WorkClass
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.files.names import SHARE_GROUP_STATE_TOPIC

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.metadata.catalogue import Catalogue, TopicImage
    from barnabas.broker.partitions.partitions import Partitions
    from barnabas.broker.partitions.share.persister import (
        SharePartitionKey,
        ShareStateSummary,
        ShareStateUpdate,
        StoredShareState,
    )

_log = logger("coordinator")

T = TypeVar("T")

SharePartitions: TypeAlias = CoordinatorPartition[ShareMachine]
"""One partition of the topic, with the states of its share partitions."""
_SWEEP = WorkClass(under_way_max=1_000, slice_ms=5, may_begin_again=False)


class ShareTopic(OwnedTopic, Protocol):
    """`__share_group_state`."""

    def delete_records_before(self, partition: int, offset: int) -> None:
        """Delete the records that are not needed any more. Raises KafkaError."""


class ShareSteps(Protocol):
    """Notifies listeners of the steps of each record (`broker/coordinator/events/`)."""

    @property
    def is_on(self) -> bool:
        """Whether there is a listener."""

    def writing(self, record: ShareRecord) -> Future[None] | None:
        """Notify that the record is about to be written; return what that has to wait for, if a test pauses it.

        Raises KafkaError where a test has the write fail.
        """

    def written(self, record: ShareRecord) -> Future[None] | None:
        """Notify that the record was written; return what the reply has to wait for, if a test pauses it."""


class ShareCoordinator:
    """The share coordinator of this broker, for the share partitions whose states it stores."""

    def __init__(
        self,
        *,
        topic: ShareTopic,
        config: ShareCoordinatorConfig,
        exists: Callable[[bytes, int], bool],
        clock: Clock,
        machine_clock: Clock,
        upkeep: CooperativeScheduler,
        steps: ShareSteps | None = None,
    ) -> None:
        """Create the coordinator. `exists`: whether a topic with this id has a partition of this number."""
        self.is_closed = False
        self._topic = topic
        self._config = config
        self._exists = exists
        self._clock = clock
        self._upkeep = upkeep
        self._steps = steps
        self._partitions = CoordinatorPartitions(topic, machine_clock, upkeep, self._build, _nothing)
        self.partitions_by_state = self._partitions.by_state
        self.writes_count = 0
        """The changes of states that were stored for leaders of share partitions."""
        self._pruned: dict[int, int] = {}
        """By partition, the offset before which the log was deleted."""
        self._timers: dict[str, Timer] = {}
        self._arm("snapshots", config.repeat_interval_ms, self.repeat_old_snapshots)
        self._arm("pruning", config.prune_interval_ms, self.prune)

    @classmethod
    def open(
        cls,
        config: BrokerConfig,
        *,
        catalogue: Catalogue,
        partitions: Partitions,
        clock: Clock,
        machine_clock: Clock,
        upkeep: CooperativeScheduler,
        steps: ShareSteps | None = None,
    ) -> ShareCoordinator:
        """Open the coordinator of a node."""
        from barnabas.broker.coordinator.runtime.topic import CoordinatorTopic

        compression = config.integer("share.coordinator.state.topic.compression.codec")
        coordinator = cls(
            topic=CoordinatorTopic(SHARE_GROUP_STATE_TOPIC, catalogue, partitions, compression),
            config=share_coordinator_config(config),
            exists=partial(_exists, catalogue),
            clock=clock,
            machine_clock=machine_clock,
            upkeep=upkeep,
            steps=steps,
        )
        catalogue.subscribe(coordinator)
        return coordinator

    def close(self) -> None:
        """Stop the coordinator with the broker."""
        self.is_closed = True
        for timer in self._timers.values():
            timer.cancel()
        self._partitions.close()

    def resign(self, index: int) -> None:
        """Give up the partition: another node coordinates its share partitions from now on."""
        self._partitions.resign(index)
        self._pruned.pop(index, None)

    def prepare(self, text: str) -> int:
        """Return the partition of a key for a FindCoordinator; start to load it if this node leads it.

        Raises KafkaError INVALID_REQUEST for a text that is no key.
        """
        return self._partitions.prepare(key_text(parse_key(text)))

    # Requests

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Reply[None]:
        """Begin a state, or begin it anew with a higher state epoch."""
        return self._decide(
            key,
            lambda tracked: deciding.initialize(tracked, key, state_epoch, start_offset, now_ms=self._clock.now_ms()),
        )

    def read(self, key: SharePartitionKey, leader_epoch: int) -> Reply[StoredShareState]:
        """Return the state, for the leader with this epoch."""
        return self._decide(
            key,
            lambda tracked: deciding.read(
                tracked,
                key,
                leader_epoch,
                updates_per_snapshot=self._config.updates_per_snapshot,
                now_ms=self._clock.now_ms(),
            ),
        )

    def write(self, key: SharePartitionKey, update: ShareStateUpdate) -> Reply[None]:
        """Store a change."""
        stored: Reply[None] = self._decide(
            key,
            lambda tracked: deciding.write(
                tracked,
                key,
                update,
                updates_per_snapshot=self._config.updates_per_snapshot,
                now_ms=self._clock.now_ms(),
            ),
        )
        self.writes_count += 1
        return stored

    def summarize(self, key: SharePartitionKey) -> Reply[ShareStateSummary]:
        """Return the progress."""
        return self._decide(key, lambda tracked: ShareOutcome(reply=deciding.summarize(tracked)))

    def every_state(self) -> Iterator[tuple[SharePartitionKey, ShareState]]:
        """Yield the states of the loaded partitions, for readers; some may be gone, and new ones missing."""
        for partition in self._partitions.loaded():
            for key, tracked in list(partition.machine.tracked.items()):
                yield key, tracked.state

    def load_in_background(self, indexes: Collection[int]) -> bool:
        """Load those of these partitions that were not used yet, in the background. Return whether some are left."""
        self._partitions.load_in_background(indexes)
        finished = {partition.index for partition in self._partitions.loaded()} | set(self._partitions.failed())
        return not finished.issuperset(indexes)

    def delete(self, key: SharePartitionKey) -> Reply[None]:
        """Delete the state; one that does not exist counts as deleted."""
        return self._decide(key, lambda tracked: deciding.delete(tracked, key))

    def _decide(self, key: SharePartitionKey, decide: Callable[[TrackedShareState | None], ShareOutcome]) -> Reply[T]:
        """Carry out a decision about a share partition, whose topic must exist once the decision has not refused."""
        if key.partition < 0:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "The partition id cannot be a negative number.")
        return self._carry_out(self._partitions.of(key_text(key)), key, partial(self._checked, key, decide))

    def _checked(
        self,
        key: SharePartitionKey,
        decide: Callable[[TrackedShareState | None], ShareOutcome],
        tracked: TrackedShareState | None,
    ) -> ShareOutcome:
        outcome = decide(tracked)
        if not self._exists(key.topic_id, key.partition):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return outcome

    def _carry_out(
        self,
        partition: SharePartitions,
        key: SharePartitionKey,
        decide: Callable[[TrackedShareState | None], ShareOutcome],
        *,
        may_pause: bool = True,
    ) -> Reply[T]:
        """Carry out a decision. One that is paused before its record is made again: the state may have changed."""
        outcome = decide(partition.machine.tracked.get(key))
        steps = self._steps if outcome.records else None
        if steps is None or not steps.is_on:
            reply: Reply[T] = partition.shard.execute(key_text(key), outcome)
            return reply
        (record,) = outcome.records
        try:
            paused = steps.writing(record) if may_pause else None
        except KafkaError as refusal:
            raise KafkaError(as_coordinator_error(refusal.code), refusal.message) from refusal
        if paused is not None:
            return _once_released(paused, partial(self._carry_out, partition, key, decide, may_pause=False))
        reply = partition.shard.execute(key_text(key), outcome)
        paused = steps.written(record)
        return reply if paused is None else _once_released(paused, partial(_itself, reply))

    def _build(self, index: int) -> tuple[ShareMachine, Shard[ShareRecord, None]]:
        machine = ShareMachine(self._config.updates_per_snapshot)
        shard: Shard[ShareRecord, None] = Shard(
            index,
            machine,
            self._topic,
            self._clock,
            self._upkeep.loop.create_future,
            write_timeout_ms=self._config.write_timeout_ms,
        )
        return machine, shard

    # What no request makes

    def repeat_old_snapshots(self) -> None:
        """Write the old snapshots again, unless all are such repetitions: then no log has grown."""
        for partition in self._partitions.loaded():
            tracked = partition.machine.tracked
            if not all(map(deciding.is_repeated, tracked.values())):
                self._sweep(partition, list(tracked), self._repeated)

    def _repeated(self, tracked: TrackedShareState | None, key: SharePartitionKey) -> ShareOutcome:
        return deciding.repeat(tracked, key, self._config.repeat_interval_ms, now_ms=self._clock.now_ms())

    def prune(self) -> None:
        """Delete the beginning of each loaded log that no state needs."""
        for partition in self._partitions.loaded():
            offset = partition.machine.needed_offset()
            if offset <= self._pruned.get(partition.index, 0) or self._topic.unsynced(partition.index) is not None:
                continue  # with a sync under way the snapshots that replace the rest may still be lost
            try:
                self._topic.delete_records_before(partition.index, offset)
            except KafkaError as refusal:
                _log.warning(line("share states not pruned", partition=partition.index, reason=refusal))
            else:
                self._pruned[partition.index] = offset

    def _sweep(
        self,
        partition: SharePartitions,
        keys: list[SharePartitionKey],
        decide: Callable[[TrackedShareState | None, SharePartitionKey], ShareOutcome],
    ) -> None:
        """Carry out a decision about each of these keys; if it takes long, other work runs in between."""
        self._upkeep.in_slices(partial(self._decide_each, partition, keys, decide), _SWEEP)

    def _decide_each(
        self,
        partition: SharePartitions,
        keys: list[SharePartitionKey],
        decide: Callable[[TrackedShareState | None, SharePartitionKey], ShareOutcome],
    ) -> Work[None]:
        while keys and not partition.shard.is_closed:
            key = keys.pop()
            if decide(partition.machine.tracked.get(key), key).records:
                self._decide_unasked(partition, key, decide)
            yield None

    def _decide_unasked(
        self,
        partition: SharePartitions,
        key: SharePartitionKey,
        decide: Callable[[TrackedShareState | None, SharePartitionKey], ShareOutcome],
    ) -> None:
        """Carry out a decision without a waiting request."""
        try:
            reply: Reply[None] = self._carry_out(partition, key, lambda tracked: decide(tracked, key))
        except KafkaError as refusal:
            _log.warning(line("share state not written", group=key.group_id, reason=refusal))
            return
        if isinstance(reply, Future):
            reply.add_done_callback(log_if_not_synced)

    def _arm(self, name: str, interval_ms: int, action: Callable[[], None]) -> None:
        run = partial(self._run, name, interval_ms, action)
        self._timers[name] = self._clock.call_later(self._clock.until_next(interval_ms), run)

    def _run(self, name: str, interval_ms: int, action: Callable[[], None]) -> None:
        self._arm(name, interval_ms, action)
        action()

    # Called by the catalogue

    def on_topic_created(self, topic: TopicImage) -> None:
        """Do nothing: no share partition of it has begun."""

    def on_topic_deleted(self, topic: TopicImage) -> None:
        """Delete the states of the topic's share partitions; forget all if it is the topic of the states."""
        if topic.name == SHARE_GROUP_STATE_TOPIC:
            self._partitions.forget()
            self._pruned.clear()
            return
        for partition in self._partitions.loaded():
            keys = [key for key in partition.machine.tracked if key.topic_id == topic.topic_id]
            if keys:
                self._sweep(partition, keys, deciding.delete)

    def on_partitions_added(self, topic: TopicImage, first_new: int) -> None:
        """Do nothing: no share partition of theirs has begun."""

    def on_configs_changed(self, resource_type: int, resource_name: str) -> None:
        """Do nothing: the settings are read at the start."""


def _exists(catalogue: Catalogue, topic_id: bytes, partition: int) -> bool:
    topic = catalogue.topics_by_id.get(topic_id)
    return topic is not None and 0 <= partition < len(topic.partitions)


def _once_released(paused: Reply[None], go_on: Callable[[], Reply[T]]) -> Reply[T]:
    return reply_to(lambda: paused, lambda _: go_on())


def _itself(reply: Reply[T]) -> Reply[T]:
    return reply


def _nothing(partition: SharePartitions) -> None:
    """Do nothing once a partition is loaded: its states wait for requests."""
