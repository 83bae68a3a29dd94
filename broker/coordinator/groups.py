"""The group coordinator: what handlers ask of it.

Finds the partition of a group, asks the decisions in `group/`, and has the runtime carry them out. Methods return
their reply, or a future of it where the request has to wait: for the other members, or for the disk. They raise
KafkaError where Kafka answers with an error for the whole request. What is pure is in `group/`; what is parked, timed
and written is in `runtime`; this module only connects them.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, TypeVar
from uuid import UUID

from barnabas.broker.clock import Clock, Timer
from barnabas.broker.coordinator.group import expiry
from barnabas.broker.coordinator.group.classic import joining, leaving, sessions, syncing
from barnabas.broker.coordinator.group.classic.draft import GroupOutcome
from barnabas.broker.coordinator.group.classic.model import (
    CommitRequest,
    CommittedOffset,
    Group,
    GroupConfig,
    GroupRecord,
    JoinReply,
    JoinRequest,
    LeavingMember,
    SyncReply,
    SyncRequest,
)
from barnabas.broker.coordinator.group.machine import GroupMachine
from barnabas.broker.coordinator.group.offsets import offsets
from barnabas.broker.coordinator.removals import OffsetRemovals
from barnabas.broker.coordinator.runtime.outcome import Producer
from barnabas.broker.coordinator.runtime.ownership import CoordinatorPartition, CoordinatorPartitions, OwnedTopic
from barnabas.broker.coordinator.runtime.placement import KEY_BYTES_MAX, fits_a_key
from barnabas.broker.coordinator.runtime.shard import Appended, Shard
from barnabas.broker.log_lines import line, logger
from barnabas.broker.replies import Reply, answer_nobody
from barnabas.broker.slices import Kind, Slices
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.files.names import CONSUMER_OFFSETS_TOPIC
from barnabas.protocol.records.control import EndTxnMarker
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.catalogue import Catalogue
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.partitions.partitions import Partitions

_log = logger("coordinator")

T = TypeVar("T")
GroupPartition: TypeAlias = CoordinatorPartition[GroupMachine]

EXPIRED_IN_A_TURN = 300
"""How many groups are looked at for old offsets before others get their turn: some milliseconds."""
_EXPIRY = Kind(steps_max=EXPIRED_IN_A_TURN, slice_ms=5, may_begin_again=False)


class GroupOffsets(NamedTuple):
    """What a group committed."""

    offsets: Mapping[str, Mapping[int, CommittedOffset]]
    """topic -> partition -> committed offset"""
    unstable: Collection[tuple[str, int]]
    """(topic, partition) with an offset in an open transaction."""


class OffsetsTopic(OwnedTopic, Protocol):
    """`__consumer_offsets`."""

    def append_marker(self, partition: int, marker: EndTxnMarker, *, transaction_version: int, hold: bool) -> Appended:
        """End the producer's transaction on the partition. KafkaError, and nothing is written then."""

    def release_marker(self, partition: int, producer_id: int) -> None:
        """Show readers of the log what was ended with `hold`."""


class GroupCoordinator:
    """All groups of this broker."""

    def __init__(
        self,
        *,
        topic: OffsetsTopic,
        config: GroupConfig,
        clock: Clock,
        upkeep: Slices,
        random_bytes: Callable[[int], bytes],
        topic_ids: Callable[[str], bytes | None],
    ) -> None:
        """`topic_ids` gives the id of the topic that now has a name, or None."""
        self._config = config
        self._clock = clock
        self._random_bytes = random_bytes
        self._topic = topic
        self._create_future = upkeep.loop.create_future
        self._upkeep = upkeep
        self._partitions = CoordinatorPartitions(topic, clock, upkeep, self._build, self._on_loaded)
        self._removals = OffsetRemovals(clock, upkeep, topic_ids, self._execute_unasked)
        self._expiry: Timer | None = None
        self._arm_expiry()

    @classmethod
    def open(
        cls,
        config: BrokerConfig,
        *,
        catalogue: Catalogue,
        partitions: Partitions,
        clock: Clock,
        upkeep: Slices,
        random_bytes: Callable[[int], bytes],
    ) -> GroupCoordinator:
        """The coordinator of a broker; it hears of deleted topics from the catalogue."""
        from barnabas.broker.coordinator.runtime.topic import CoordinatorTopic, TopicDeletions

        def topic_id(name: str) -> bytes | None:
            topic = catalogue.topics.get(name)
            return None if topic is None else topic.topic_id

        coordinator = cls(
            topic=CoordinatorTopic(
                CONSUMER_OFFSETS_TOPIC,
                catalogue,
                partitions,
                compression=config.integer("offsets.topic.compression.codec"),
            ),
            config=group_config(config),
            clock=clock,
            upkeep=upkeep,
            random_bytes=random_bytes,
            topic_ids=topic_id,
        )
        catalogue.subscribe(TopicDeletions(coordinator.on_topic_deleted))
        return coordinator

    def close(self) -> None:
        """The broker stops: the answer to whoever waits is to look for the coordinator again."""
        if self._expiry is not None:
            self._expiry.cancel()
        self._removals.close()
        self._partitions.close()

    def prepare(self, group_id: str) -> int:
        """Somebody asked where this group is: its partition, which begins to load if this node leads it.

        Raises KafkaError without a topic.
        """
        return self._partitions.prepare(group_id)

    # Membership

    def join(self, request: JoinRequest) -> Reply[JoinReply]:
        """JoinGroup."""
        _check_group_id(request.group_id)
        if not joining.is_session_timeout_allowed(request, self._config):
            return JoinReply(ErrorCode.INVALID_SESSION_TIMEOUT, request.member_id)
        suffix = str(UUID(bytes=self._random_bytes(16), version=4))
        decide = partial(joining.join, request=request, fresh_suffix=suffix, now_ms=self._now_ms(), config=self._config)
        return self._decide(request.group_id, decide)

    def sync(self, request: SyncRequest) -> Reply[SyncReply]:
        """SyncGroup."""
        _check_group_id(request.group_id)
        decide = partial(syncing.sync, request=request, now_ms=self._now_ms(), config=self._config)
        return self._decide(request.group_id, decide)

    def heartbeat(
        self, group_id: str, member_id: str, group_instance_id: str | None, generation_id: int
    ) -> Reply[ErrorCode]:
        """Heartbeat. While the partition loads no answer is to rejoin."""
        _check_group_id(group_id)
        try:
            partition = self._partitions.of(group_id)
        except KafkaError as error:
            if error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                return ErrorCode.NONE
            raise
        group = partition.machine.group(group_id)
        return self._execute(
            partition, group_id, sessions.heartbeat(group, member_id, group_instance_id, generation_id)
        )

    def leave(self, group_id: str, members: Sequence[LeavingMember]) -> Reply[tuple[ErrorCode, ...]]:
        """LeaveGroup: one error code per member."""
        _check_group_id(group_id)
        decide = partial(leaving.leave, leaving=members, now_ms=self._now_ms(), config=self._config)
        return self._decide(group_id, decide)

    # Offsets

    def commit_offsets(self, request: CommitRequest, *, missing_group: ErrorCode) -> Reply[tuple[ErrorCode, ...]]:
        """OffsetCommit: one error code per offset. `missing_group` is for members of a group that does not exist."""
        _check_group_id(request.group_id, may_be_empty=True)
        decide = partial(
            offsets.commit, request=request, missing_group=missing_group, now_ms=self._now_ms(), config=self._config
        )
        return self._decide(request.group_id, decide)

    def commit_offsets_in_transaction(
        self, request: CommitRequest, producer: Producer, *, missing_group: ErrorCode
    ) -> Reply[tuple[ErrorCode, ...]]:
        """TxnOffsetCommit, once the transaction coordinator has admitted it: one error code per offset.

        `missing_group` is as that of `commit_offsets`.
        """
        _check_group_id(request.group_id)
        decide = partial(
            offsets.commit_in_transaction,
            request=request,
            producer=producer,
            missing_group=missing_group,
            now_ms=self._now_ms(),
            config=self._config,
        )
        return self._decide(request.group_id, decide)

    def offsets_partition(self, group_id: str) -> int:
        """Where in `__consumer_offsets` the group's offsets are, loaded or not. KafkaError for an id that none has."""
        _check_group_id(group_id)
        return self._partitions.index_of(group_id)

    def fetch_offsets(self, group_id: str) -> GroupOffsets:
        """OffsetFetch: everything the group committed; nothing for a group nobody knows."""
        _check_group_id(group_id, may_be_empty=True)
        partition = self._partitions.of(group_id)
        return GroupOffsets(self._removals.visible(partition, group_id), partition.machine.durable.unstable(group_id))

    def delete_offsets(self, group_id: str, wanted: Sequence[tuple[str, int]]) -> Reply[tuple[ErrorCode, ...]]:
        """OffsetDelete of (topic, partition): one error code each; raises KafkaError for the group as a whole."""
        _check_group_id(group_id)
        machine = self._partitions.of(group_id).machine
        durable = machine.durable
        error, outcome = offsets.delete_offsets(
            machine.group(group_id), durable.offsets(group_id), wanted, unstable=durable.unstable(group_id)
        )
        if error is not ErrorCode.NONE:
            raise KafkaError(error)
        return self._decide(group_id, lambda _: outcome)

    # Groups as such

    def groups(self) -> list[Group]:
        """Every group there is. Raises KafkaError while a partition loads. To be read, not changed."""
        return list(self.each_group())

    def each_group(self) -> Iterator[Group]:
        """As `groups`, one after another; others may have their turn in between."""
        partitions = self._partitions.every()
        return (group for partition in partitions for group in partition.machine.groups())

    def describe(self, group_id: str) -> Group | None:
        """One group as it now is, or None. To be read, not changed."""
        _check_group_id(group_id, may_be_empty=True)
        return self._partitions.of(group_id).machine.group(group_id)

    def delete_group(self, group_id: str) -> Reply[ErrorCode]:
        """DeleteGroups, one of them."""
        _check_group_id(group_id, may_be_empty=True)
        durable = self._partitions.of(group_id).machine.durable
        decide = partial(
            offsets.delete_group,
            offsets=durable.offsets(group_id),
            unstable=durable.unstable(group_id),
            now_ms=self._now_ms(),
        )
        return self._decide(group_id, decide)

    # The ends of transactions

    def append_marker(self, partition: int, marker: EndTxnMarker, *, transaction_version: int, hold: bool) -> Appended:
        """End a producer's transaction on a partition of `__consumer_offsets`.

        With `hold` its offsets wait on, for `release_marker`. KafkaError, and nothing is written then;
        NOT_LEADER_OR_FOLLOWER while the partition loads.
        """
        owned = self._partitions.begin(partition)
        if owned.failure is not None:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, owned.failure)
        if not owned.is_ready:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"offsets of partition {partition} are being loaded")
        appended = self._topic.append_marker(partition, marker, transaction_version=transaction_version, hold=hold)
        if hold:
            owned.machine.durable.hold_marker(marker.producer_id)
        else:
            owned.machine.replay_marker(marker.producer_id, is_commit=marker.commit)
        return appended

    def release_marker(self, partition: int, producer_id: int, is_commit: bool) -> None:
        """Show what was ended with `hold`: the offsets are committed, or gone."""
        for owned in self._partitions.loaded():
            if owned.index == partition:
                owned.machine.durable.release_marker(producer_id, is_commit=is_commit)
        self._topic.release_marker(partition, producer_id)

    def load_in_background(self, partitions: Collection[int]) -> None:
        """Load those of these partitions that were not used yet, while nobody waits for it."""
        self._partitions.load_in_background(partitions)

    def loaded(self) -> Iterator[GroupPartition]:
        """The partitions that are in use and ready: for tests and for whoever looks inside."""
        return self._partitions.loaded()

    # The inside

    def _decide(self, group_id: str, decide: Callable[[Group | None], GroupOutcome]) -> Reply[T]:
        partition = self._partitions.of(group_id)
        return self._execute(partition, group_id, decide(partition.machine.group(group_id)))

    def _execute(self, partition: GroupPartition, group_id: str, outcome: GroupOutcome) -> Reply[T]:
        reply: Reply[T] = partition.shard.execute(group_id, outcome)
        return reply

    def _now_ms(self) -> int:
        return self._clock.now_ms()

    def _build(self, index: int) -> tuple[GroupMachine, Shard[GroupRecord, Group]]:
        machine = GroupMachine(self._config)
        timeout_ms = self._config.offsets_commit_timeout_ms
        return machine, Shard(index, machine, self._topic, self._clock, self._create_future, timeout_ms)

    def _on_loaded(self, partition: GroupPartition) -> None:
        for group_id, outcome in partition.machine.loaded(self._now_ms()):
            self._execute(partition, group_id, outcome)
        self._removals.loaded(partition)

    def on_topic_deleted(self, topic: str) -> None:
        """Nobody can read the topic any more: what was committed for it goes with it."""
        if topic == CONSUMER_OFFSETS_TOPIC:
            self._partitions.forget()  # the groups themselves are gone
            return
        self._removals.topic_deleted(self._partitions.loaded(), topic)

    def _execute_unasked(self, partition: GroupPartition, outcome: GroupOutcome) -> None:
        """Carry out what nobody waits for an answer to. KafkaError."""
        reply: Reply[None] = self._execute(partition, "", outcome)
        if isinstance(reply, Future):
            answer_nobody(reply)  # a record that will not be on the disk is logged by whoever syncs

    def _arm_expiry(self) -> None:
        interval_ms = self._config.offsets_retention_check_interval_ms
        self._expiry = self._clock.call_later(interval_ms, self._expire)

    def _expire(self) -> None:
        """Drop what is too old, in the partitions used in this run; the others wait until they are."""
        self._arm_expiry()
        groups = (
            (partition, group_id)
            for partition in self._partitions.loaded()
            for group_id in partition.machine.group_ids()
        )
        self._upkeep.in_slices(lambda: self._expire_all(groups), _EXPIRY)

    def _expire_all(self, groups: Iterator[tuple[GroupPartition, str]]) -> Steps[None]:
        for partition, group_id in groups:
            if not partition.shard.is_closed:
                for outcome in expiry.expire(partition.machine, group_id, self._now_ms(), self._config):
                    try:
                        self._execute(partition, group_id, outcome)
                    except KafkaError as refusal:
                        _log.warning(line("offsets not expired", group=group_id, error=refusal))
            yield


def group_config(config: BrokerConfig) -> GroupConfig:
    """The groups' part of the broker's configuration."""
    return GroupConfig(
        min_session_timeout_ms=config.integer("group.min.session.timeout.ms"),
        max_session_timeout_ms=config.integer("group.max.session.timeout.ms"),
        initial_rebalance_delay_ms=config.integer("group.initial.rebalance.delay.ms"),
        max_size=config.integer("group.max.size"),
        offset_metadata_max_bytes=config.integer("offset.metadata.max.bytes"),
        offsets_commit_timeout_ms=config.integer("offsets.commit.timeout.ms"),
        offsets_retention_ms=config.integer("offsets.retention.minutes") * 60_000,
        offsets_retention_check_interval_ms=config.integer("offsets.retention.check.interval.ms"),
    )


def _check_group_id(group_id: str, *, may_be_empty: bool = False) -> None:
    """The offset APIs take the empty id, those of members do not; no id may be longer than a record can hold."""
    if not group_id and not may_be_empty:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID, "the group id is empty")
    if not fits_a_key(group_id):
        raise KafkaError(ErrorCode.INVALID_GROUP_ID, f"the group id is longer than {KEY_BYTES_MAX} bytes")
