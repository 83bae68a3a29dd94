# compiled: mypyc
"""The group coordinator: the interface for the request handlers.

Finds the partition of a group, calls the decisions in `group/`, and has the `runtime` carry them out: park, time and
write. Methods return their reply, or a future of it where the request has to wait: for the other members, or for the
disk. They raise KafkaError where Kafka returns an error for the whole request.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar
from uuid import UUID

from barnabas.broker.coordinator.group.classic_requests import classic_join, classic_leave, classic_request
from barnabas.broker.coordinator.group.consumer_groups import ConsumerGroups
from barnabas.broker.coordinator.group.decisions.classic import joining, leaving, sessions, syncing
from barnabas.broker.coordinator.group.decisions.classic.model import (
    CommitRequest,
    Group,
    GroupConfig,
    JoinReply,
    JoinRequest,
    LeavingMember,
    SyncReply,
    SyncRequest,
)
from barnabas.broker.coordinator.group.decisions.consumer import leaving as consumer_leaving
from barnabas.broker.coordinator.group.decisions.consumer.model import ConsumerContext
from barnabas.broker.coordinator.group.decisions.consumer.timers import is_of_consumer_group
from barnabas.broker.coordinator.group.decisions.group_machine import GroupMachine
from barnabas.broker.coordinator.group.decisions.group_types import (
    STREAMS_TYPE,
    AnyGroup,
    AnyOutcome,
    AnyRecord,
    AnyVolatile,
    check_group_id,
)
from barnabas.broker.coordinator.group.decisions.migration import joining as migration_joining
from barnabas.broker.coordinator.group.decisions.migration import staying
from barnabas.broker.coordinator.group.decisions.modern.group import ModernGroup
from barnabas.broker.coordinator.group.decisions.offsets import admission, committed_offsets
from barnabas.broker.coordinator.group.decisions.share.leaving import is_of_share_group
from barnabas.broker.coordinator.group.decisions.share.model import ShareContext, ShareGroupConfig
from barnabas.broker.coordinator.group.decisions.streams.timers import is_of_streams_group
from barnabas.broker.coordinator.group.group_decisions import RECORDS_AT_ONCE, GroupDecisions
from barnabas.broker.coordinator.group.group_partition import GroupPartition
from barnabas.broker.coordinator.group.offset_cleanup import OffsetCleanup
from barnabas.broker.coordinator.group.offset_expiration import OffsetExpiration
from barnabas.broker.coordinator.group.share_groups import ShareGroups
from barnabas.broker.coordinator.runtime.coordinator_partitions import CoordinatorPartitions, OwnedTopic
from barnabas.broker.coordinator.runtime.decision_listener import ListenerFactory
from barnabas.broker.coordinator.runtime.outcome import (
    Effect,
    InitializeShareStates,
    ResolveTopics,
    TimerKey,
    TransactionProducer,
)
from barnabas.broker.coordinator.runtime.shard import AppendPosition, Shard
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.runtime.replies import Reply, ignore_result, reply_to
from barnabas.broker.runtime.scheduler import CooperativeScheduler
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.files.names import CONSUMER_OFFSETS_TOPIC
from barnabas.protocol.records.control import EndTxnMarker
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.coordinator.group.catalogue_topics import Racks
    from barnabas.broker.coordinator.group.decisions.streams.model import StreamsContext
    from barnabas.broker.coordinator.group.streams_groups import StreamsGroups
    from barnabas.broker.metadata.catalogue import Catalogue
    from barnabas.broker.partitions.partitions import Partitions
    from barnabas.broker.partitions.share.persister import Persister

T = TypeVar("T")


class OffsetsTopic(OwnedTopic, Protocol):
    """`__consumer_offsets`."""

    def append_marker(
        self, partition: int, marker: EndTxnMarker, *, transaction_version: int, hold: bool
    ) -> AppendPosition:
        """End the producer's transaction on the partition. Raises KafkaError, and then nothing is written."""

    def release_marker(self, partition: int, producer_id: int) -> None:
        """Show readers of the log the result of an end with `hold`."""


class GroupCoordinator:
    """The group coordinator of this broker, for all its groups."""

    def __init__(
        self,
        *,
        topic: OffsetsTopic,
        config: GroupConfig,
        clock: Clock,
        machine_clock: Clock,
        upkeep: CooperativeScheduler,
        random_bytes: Callable[[int], bytes],
        topic_ids: Callable[[str], bytes | None],
        consumer: ConsumerContext,
        streams: Callable[[], StreamsContext],
        share: ShareContext | None = None,
        persister: Callable[[], Persister] | None = None,
        listener_factory: ListenerFactory | None = None,
    ) -> None:
        """Create the coordinator. `topic_ids` returns the id of the topic that now has a name, or None.

        `streams` is called at the first use of a streams group.
        `persister` returns the store of the states of share groups.
        """
        self._config, self._listener_factory = config, listener_factory
        self._clock = clock
        self._random_bytes = random_bytes
        self._topic = topic
        self._create_future = upkeep.loop.create_future
        self._upkeep = upkeep
        self._partitions = CoordinatorPartitions(topic, machine_clock, upkeep, self._build, self._on_loaded)
        self.unsynced = self._partitions.unsynced
        self._decisions = GroupDecisions(self._partitions, upkeep)
        self.rebalances = self._decisions.rebalances
        self.partitions_by_state = self._partitions.by_state
        self.consumer = ConsumerGroups(
            consumer, config, self._partitions, self._decisions, clock, upkeep, self._fresh_id
        )
        """Groups of the consumer protocol (KIP-848)."""
        self._streams_context = streams
        self._streams: StreamsGroups | None = None
        share = share or ShareContext(lambda group_id: ShareGroupConfig(), consumer.topics)
        events = None if listener_factory is None else listener_factory.events
        store = persister or _no_persister
        self.share = ShareGroups(share, self._partitions, self._decisions, clock, upkeep, store, events)
        """Share groups (KIP-932)."""
        self._removals = OffsetCleanup(machine_clock, upkeep, topic_ids, self._execute_unasked)
        self._expiries = OffsetExpiration(config, clock, upkeep, self._partitions.loaded, self._execute)

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
        random_bytes: Callable[[int], bytes],
        racks: Racks | None = None,
        persister: Callable[[], Persister] | None = None,
        listener_factory: ListenerFactory | None = None,
    ) -> GroupCoordinator:
        """Open the coordinator of a broker; the catalogue notifies it of deleted topics.

        racks: of the replicas of each partition, if there are other brokers.
        """
        from barnabas.broker.coordinator.group.catalogue_topics import CatalogueTopics, all_in, topic_ids_in
        from barnabas.broker.coordinator.group.group_config import (
            ConsumerConfigs,
            ShareConfigs,
            group_config,
            streams_context,
        )
        from barnabas.broker.coordinator.runtime.topic import CoordinatorTopic, TopicDeletions
        from barnabas.broker.metadata.config_resources.groups import GroupConfigs

        of_groups = GroupConfigs(catalogue, config)
        topics = CatalogueTopics(catalogue, racks or all_in(config.text("broker.rack")))
        coordinator = cls(
            topic=CoordinatorTopic(
                CONSUMER_OFFSETS_TOPIC,
                catalogue,
                partitions,
                compression=config.integer("offsets.topic.compression.codec"),
            ),
            config=group_config(config),
            clock=clock,
            machine_clock=machine_clock,
            upkeep=upkeep,
            random_bytes=random_bytes,
            topic_ids=topic_ids_in(catalogue),
            consumer=ConsumerContext(ConsumerConfigs(config, of_groups).of, topics),
            streams=partial(streams_context, config, of_groups, topics),
            share=ShareContext(ShareConfigs(config, of_groups).of, topics),
            persister=persister,
            listener_factory=listener_factory,
        )
        catalogue.subscribe(TopicDeletions(coordinator.on_topic_deleted))
        return coordinator

    @property
    def streams(self) -> StreamsGroups:
        """Groups of the streams protocol (KIP-1071); few brokers have any."""
        if self._streams is None:
            from barnabas.broker.coordinator.group.streams_groups import StreamsGroups

            self._streams = StreamsGroups(self._streams_context(), self._partitions, self._decisions, self._clock)
        return self._streams

    def close(self) -> None:
        """Stop the coordinator with the broker: waiting requests get the error to find the coordinator again."""
        self._expiries.close()
        self._removals.close()
        self._partitions.close()

    def resign(self, index: int) -> None:
        """Give up the partition: another node coordinates its groups from now on."""
        self._partitions.resign(index)

    def prepare(self, group_id: str) -> int:
        """Return the partition of the group for a FindCoordinator; start to load it if this node leads it.

        Raises KafkaError if the topic does not exist.
        """
        return self._partitions.prepare(group_id)

    # Membership

    def join(self, request: JoinRequest) -> Reply[JoinReply]:
        """Handle JoinGroup."""
        check_group_id(request.group_id)
        if not joining.is_session_timeout_allowed(request, self._config):
            return JoinReply(ErrorCode.INVALID_SESSION_TIMEOUT, request.member_id)
        return self._decisions.in_steps(request.group_id, partial(self._joined, request, self._fresh_id()))

    def _joined(self, request: JoinRequest, fresh_id: str, group: AnyGroup | None) -> Steps[AnyOutcome]:
        now_ms, config = self._now_ms(), self._config
        of_classic = partial(joining.join, request=request, fresh_suffix=fresh_id, now_ms=now_ms, config=config)
        of_consumer = partial(
            migration_joining.join,
            request=request,
            fresh_member_id=fresh_id,
            context=self.consumer.context,
            now_ms=now_ms,
            config=config,
        )
        refused = JoinReply(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
        return classic_join(group, of_classic=of_classic, of_consumer=of_consumer, refused=refused)

    def sync(self, request: SyncRequest) -> Reply[SyncReply]:
        """Handle SyncGroup."""
        check_group_id(request.group_id)
        of_classic = partial(syncing.sync, request=request, now_ms=self._now_ms(), config=self._config)
        of_consumer = partial(staying.sync, request=request, topics=self.consumer.context.topics)
        decide = partial(classic_request, of_classic=of_classic, of_consumer=of_consumer, refused=SyncReply)
        return self._decisions.made(request.group_id, decide)

    def heartbeat(
        self, group_id: str, member_id: str, group_instance_id: str | None, generation_id: int
    ) -> Reply[ErrorCode]:
        """Handle Heartbeat at once, since it changes no group. While the partition loads the reply is NONE."""
        check_group_id(group_id)
        try:
            partition = self._partitions.of(group_id)
        except KafkaError as error:
            if error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                return ErrorCode.NONE
            raise
        outcome = classic_request(
            partition.machine.group(group_id),
            of_classic=lambda group: sessions.heartbeat(group, member_id, group_instance_id, generation_id),
            of_consumer=lambda group: staying.heartbeat(group, member_id, group_instance_id, generation_id),
            refused=lambda code: code,
        )
        return self._execute(partition, group_id, outcome)

    def leave(self, group_id: str, members: Sequence[LeavingMember]) -> Reply[tuple[ErrorCode, ...]]:
        """Handle LeaveGroup: one error code per member."""
        check_group_id(group_id)
        of_classic = partial(leaving.leave, leaving=members, now_ms=self._now_ms(), config=self._config)
        of_consumer = partial(consumer_leaving.remove, leaving=members, fence=self.consumer.fence)
        refused = tuple(ErrorCode.UNKNOWN_MEMBER_ID for _ in members)
        decide = partial(classic_leave, of_classic=of_classic, of_consumer=of_consumer, refused=refused)
        return self._decisions.in_steps(group_id, decide)

    # Offsets

    def commit_offsets(self, request: CommitRequest, *, missing_group: ErrorCode) -> Reply[tuple[ErrorCode, ...]]:
        """Handle OffsetCommit: one error code per offset. `missing_group` is for members of an unknown group."""
        check_group_id(request.group_id, may_be_empty=True)
        decide = partial(
            committed_offsets.commit,
            request=request,
            missing_group=missing_group,
            now_ms=self._now_ms(),
            config=self._config,
        )
        return self._decisions.made(request.group_id, decide, len(request.offsets))

    def commit_offsets_in_transaction(
        self, request: CommitRequest, producer: TransactionProducer, *, missing_group: ErrorCode
    ) -> Reply[tuple[ErrorCode, ...]]:
        """Handle TxnOffsetCommit after the transaction coordinator admitted it: one error code per offset.

        `missing_group` is the same as in `commit_offsets`.
        """
        check_group_id(request.group_id)
        decide = partial(
            committed_offsets.commit_in_transaction,
            request=request,
            producer=producer,
            missing_group=missing_group,
            now_ms=self._now_ms(),
            config=self._config,
        )
        return self._decisions.made(request.group_id, decide, len(request.offsets))

    def offsets_partition(self, group_id: str) -> int:
        """Return the partition of `__consumer_offsets` for a group, loaded or not. KafkaError for an invalid id."""
        check_group_id(group_id)
        return self._partitions.index_of(group_id)

    def fetch_offsets(
        self, group_id: str, member_id: str | None = None, member_epoch: int = -1
    ) -> committed_offsets.GroupOffsets:
        """Handle OffsetFetch: return all offsets that the group committed; none for an unknown group.

        The epoch of a modern group's member is checked if the request names the member.
        """
        check_group_id(group_id, may_be_empty=True)
        partition = self._partitions.of(group_id)
        durable = partition.machine.durable
        group = durable.modern.get(group_id)
        if group is not None:
            refusal = admission.fetch_refusal(group, member_id, member_epoch)
            if refusal is not ErrorCode.NONE:
                raise KafkaError(refusal)
        return committed_offsets.GroupOffsets(self._removals.visible(partition, group_id), durable.unstable(group_id))

    def delete_offsets(self, group_id: str, wanted: Sequence[tuple[str, int]]) -> Reply[tuple[ErrorCode, ...]]:
        """Handle OffsetDelete of (topic, partition): one error code each; KafkaError for the group as a whole."""
        check_group_id(group_id)
        return self._decisions.made(group_id, partial(self._offsets_deleted, group_id, wanted), len(wanted))

    def _offsets_deleted(self, group_id: str, wanted: Sequence[tuple[str, int]], group: AnyGroup | None) -> AnyOutcome:
        durable = self._partitions.of(group_id).machine.durable
        committed, unstable = durable.offsets(group_id), durable.unstable(group_id)
        error, outcome = committed_offsets.delete_offsets(group, committed, wanted, unstable=unstable)
        if error is not ErrorCode.NONE:
            raise KafkaError(error)
        return outcome

    # Groups as a whole

    def groups(self) -> list[AnyGroup]:
        """Return all groups, only for reading. Raises KafkaError while a partition loads."""
        return list(self.each_group())

    def each_group(self) -> Iterator[AnyGroup]:
        """Return an iterator over all groups, like `groups`; other work may run in between."""
        partitions = self._partitions.every()
        return (group for partition in partitions for group in partition.machine.groups())

    def describe(self, group_id: str) -> Group | None:
        """Return one classic group as it is now, or None; only for reading. GROUP_ID_NOT_FOUND for any other group."""
        check_group_id(group_id, may_be_empty=True)
        group = self._partitions.of(group_id).machine.group(group_id)
        if isinstance(group, ModernGroup):
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a classic group.")
        return group

    def delete_group(self, group_id: str) -> Reply[ErrorCode]:
        """Handle DeleteGroups for one group."""
        check_group_id(group_id, may_be_empty=True)
        return reply_to(lambda: self.share.delete_states(group_id), partial(self._delete_group, group_id))

    def _delete_group(self, group_id: str, refused: Mapping[bytes, KafkaError]) -> Reply[ErrorCode]:
        if refused:
            return next(iter(refused.values())).code
        count = self._partitions.of(group_id).machine.durable.offsets_count(group_id)
        if self._decisions.is_deciding(group_id):
            count = RECORDS_AT_ONCE + 1  # an upper bound: earlier decisions may commit that many
        return self._decisions.made(group_id, partial(self._group_deleted, group_id), count)

    def _group_deleted(self, group_id: str, group: AnyGroup | None) -> AnyOutcome:
        durable = self._partitions.of(group_id).machine.durable
        committed, unstable = durable.offsets(group_id), durable.unstable(group_id)
        return committed_offsets.delete_group(group, offsets=committed, unstable=unstable, now_ms=self._now_ms())

    # The ends of transactions

    def append_marker(
        self, partition: int, marker: EndTxnMarker, *, transaction_version: int, hold: bool
    ) -> AppendPosition:
        """End a producer's transaction on a partition of `__consumer_offsets`.

        With `hold` its offsets continue to wait, for `release_marker`. Raises KafkaError, and then nothing is written;
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
        """Show the result of an end with `hold`: the offsets are committed, or dropped."""
        for owned in self._partitions.loaded():
            if owned.index == partition:
                owned.machine.durable.release_marker(producer_id, is_commit=is_commit)
        self._topic.release_marker(partition, producer_id)

    def load_in_background(self, partitions: Collection[int]) -> None:
        """Load those of these partitions that were not used yet, in the background."""
        self._partitions.load_in_background(partitions)

    def loaded(self) -> Iterator[GroupPartition]:
        """Return the partitions that are loaded: for tests and for inspection."""
        return self._partitions.loaded()

    # Internal

    def _execute(self, partition: GroupPartition, group_id: str, outcome: AnyOutcome) -> Reply[T]:
        reply: Reply[T] = partition.shard.execute(group_id, outcome)
        return reply

    def _now_ms(self) -> int:
        return self._clock.now_ms()

    def _fresh_id(self) -> str:
        return str(UUID(bytes=self._random_bytes(16), version=4))

    def _build(self, index: int) -> tuple[GroupMachine, Shard[AnyRecord, AnyVolatile]]:
        machine = GroupMachine(self._config, self.consumer.context, self.share.context)
        shard = Shard(
            index,
            machine,
            self._topic,
            self._clock,
            self._create_future,
            write_timeout_ms=self._config.offsets_commit_timeout_ms,
            perform=partial(self._perform, index),
            is_deciding=self._decisions.is_deciding,
            fire=self._fire,
            listener_factory=self._listener_factory,
        )
        return machine, shard

    def _fire(self, group_id: str, timer: TimerKey) -> Reply[None]:
        """Decide what a group's timer does, and carry it out. KafkaError."""
        if is_of_consumer_group(timer):
            return self.consumer.fire(group_id, timer)
        if is_of_streams_group(timer):
            return self.streams.fire(group_id, timer)
        if is_of_share_group(timer):
            return self.share.fire(group_id, timer)
        self._partitions.of(group_id).shard.fire_at_once(group_id, timer)
        return None

    def _perform(self, index: int, group_id: str, effect: Effect) -> None:
        if isinstance(effect, InitializeShareStates):
            self.share.initialize(group_id, effect)
            return
        assert isinstance(effect, ResolveTopics), effect
        self.consumer.resolve(index, group_id, effect)

    def _on_loaded(self, partition: GroupPartition) -> None:
        for group_id, outcome in partition.machine.loaded(self._now_ms()):
            self._execute(partition, group_id, outcome)
        if any(group.group_type == STREAMS_TYPE for group in partition.machine.durable.modern.values()):
            for group_id, outcome in self.streams.loaded(partition):
                self._execute(partition, group_id, outcome)
        self._removals.loaded(partition)

    def on_topic_deleted(self, topic: str) -> None:
        """Delete the offsets that were committed for the deleted topic."""
        if topic == CONSUMER_OFFSETS_TOPIC:
            self._partitions.forget()  # the groups themselves are gone
            return
        self._removals.topic_deleted(self._partitions.loaded(), topic)
        self.share.on_topic_deleted()

    def _execute_unasked(self, partition: GroupPartition, outcome: AnyOutcome) -> None:
        """Carry out a decision without a waiting request. KafkaError."""
        reply: Reply[None] = self._execute(partition, "", outcome)
        if isinstance(reply, Future):
            ignore_result(reply)  # a failed sync is logged by the code that syncs


def _no_persister() -> Persister:
    raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "there is no store for the states of share groups")
