"""Consumer groups (KIP-848): the interface of the group coordinator for the request handlers.

Finds the partition of a group, calls the decisions in `group/consumer`, and has the runtime carry them out. The topics
that match regular expressions are searched here, in slices, because there may be many of them. A heartbeat that
computes a target is decided in slices, too (`long_decisions`), from the group's state at the end of the decision.

"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol, TypeVar

from barnabas.broker.coordinator.group.decisions.classic.model import Group, GroupConfig
from barnabas.broker.coordinator.group.decisions.classic.states import ClassicGroupState
from barnabas.broker.coordinator.group.decisions.consumer import leaving, regexes
from barnabas.broker.coordinator.group.decisions.consumer.checks import check_request
from barnabas.broker.coordinator.group.decisions.consumer.expressions import InvalidExpression, compiled
from barnabas.broker.coordinator.group.decisions.consumer.group import ConsumerGroup
from barnabas.broker.coordinator.group.decisions.consumer.heartbeat import heartbeat
from barnabas.broker.coordinator.group.decisions.consumer.model import (
    JOINING_EPOCH,
    ConsumerConfig,
    ConsumerContext,
    ConsumerGroupMember,
    HeartbeatReply,
    HeartbeatRequest,
    ResolvedRegex,
)
from barnabas.broker.coordinator.group.decisions.consumer.records import is_large
from barnabas.broker.coordinator.group.decisions.consumer.timers import is_of_consumer_group
from barnabas.broker.coordinator.group.decisions.group_types import AnyGroup, AnyOutcome, check_group_id, tombstones
from barnabas.broker.coordinator.group.decisions.migration.downgrade import members_gone
from barnabas.broker.coordinator.group.decisions.migration.upgrade import upgraded
from barnabas.broker.coordinator.group.group_partition import GroupPartition
from barnabas.broker.coordinator.runtime.decision_queue import CompletedDecision, Decision, DecisionQueue
from barnabas.broker.coordinator.runtime.outcome import ResolveTopics, TimerKey
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.runtime.replies import Reply
from barnabas.broker.runtime.scheduler import CooperativeScheduler, WorkClass
from barnabas.protocol.errors import EncodeError, ErrorCode, KafkaError
from barnabas.storage.steps import Steps

T = TypeVar("T")

_log = logger("coordinator")

RECORDS_AT_ONCE = 200
"""Records of one decision: more are prepared in steps; the rest of the work then takes some ms for thousands."""
_RESOLVING = WorkClass(steps_max=500, slice_ms=5, may_begin_again=False)


class GroupPartitions(Protocol):
    """The partitions of the group coordinator: `runtime.ownership.CoordinatorPartitions`."""

    def of(self, entity_id: str) -> GroupPartition:
        """Return the loaded partition of a group. KafkaError."""

    def loaded(self) -> Iterable[GroupPartition]:
        """Return the partitions that are loaded."""


class ConsumerGroups:
    """The consumer groups of this broker."""

    def __init__(
        self,
        context: ConsumerContext,
        classic: GroupConfig,
        partitions: GroupPartitions,
        clock: Clock,
        upkeep: CooperativeScheduler,
        fresh_id: Callable[[], str],
    ) -> None:
        self.context = context
        self._classic = classic
        self._partitions = partitions
        self._clock = clock
        self._upkeep = upkeep
        self._decisions = DecisionQueue(upkeep)
        self.is_deciding = self._decisions.is_deciding
        self._fresh_id = fresh_id
        self._resolving: set[str] = set()

    def heartbeat(self, request: HeartbeatRequest) -> Reply[HeartbeatReply]:
        """Handle ConsumerGroupHeartbeat. Raises KafkaError with Kafka's error message."""
        config = self.context.config_of(request.group_id)
        check_request(request, config)
        check_group_id(request.group_id, may_be_empty=True)
        fresh_member_id = "" if request.member_id else self._fresh_id()
        decide = partial(self._heartbeat, request=request, config=config, fresh_member_id=fresh_member_id)
        return self.in_steps(request.group_id, decide)

    def describe(self, group_id: str) -> ConsumerGroup:
        """Return one group in its current state, only for reading. Raises KafkaError GROUP_ID_NOT_FOUND."""
        check_group_id(group_id, may_be_empty=True)
        return _consumer_group(self._partitions.of(group_id).machine.group(group_id), group_id)

    def in_steps(self, group_id: str, decide: Callable[[AnyGroup | None], Steps[AnyOutcome]]) -> Reply[T]:
        """Decide about the current group in steps, after decisions already running for it; carry the decision out."""
        return self._decisions.made(group_id, partial(self._made, group_id, decide))

    def in_line(self, group_id: str, decide: Callable[[], Reply[T]]) -> Reply[T]:
        """Decide about a group without steps, after decisions that run in steps."""
        return self._decisions.made_at_once(group_id, decide)

    def fire(self, group_id: str, timer: TimerKey) -> Reply[None]:
        """Decide what a group's timer does, and carry it out. KafkaError."""
        if is_of_consumer_group(timer):
            return self.in_steps(group_id, partial(self._fired, timer))
        self._partitions.of(group_id).shard.fire_at_once(group_id, timer)
        return None

    def _fired(self, timer: TimerKey, group: AnyGroup | None) -> Steps[AnyOutcome]:
        return leaving.timer_fired(group if isinstance(group, ConsumerGroup) else None, timer, fence=self.fence)

    def fence(self, group: ConsumerGroup, members: Sequence[ConsumerGroupMember]) -> Steps[AnyOutcome]:
        """Decide what follows when members left (`leaving.Fence`): the group may become a classic one."""
        now_ms = self._clock.now_ms()
        return members_gone(group, members, context=self.context, config=self._classic, now_ms=now_ms)

    def _made(self, group_id: str, decide: Callable[[AnyGroup | None], Steps[AnyOutcome]]) -> Decision[T]:
        """Decide in steps, and carry it out in the last step. Start again if the group was changed in between."""
        while True:
            partition = self._partitions.of(group_id)
            group = partition.machine.group(group_id)
            try:
                steps = _prepared(partition, group_id, decide(group))
                outcome = yield from _unless_changed(partition, group, group_id, steps)
            except EncodeError as unfit:  # a client's name is longer than a record can carry
                raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, str(unfit)) from unfit
            if outcome is not None:
                return CompletedDecision(partition.shard.execute(group_id, outcome))

    def _heartbeat(
        self, group: AnyGroup | None, *, request: HeartbeatRequest, config: ConsumerConfig, fresh_member_id: str
    ) -> Steps[AnyOutcome]:
        if request.member_epoch < JOINING_EPOCH:
            return (yield from leaving.leave(_consumer_group(group, request.group_id), request, fence=self.fence))
        topics, now_ms = self.context.topics, self._clock.now_ms()
        decide = partial(
            heartbeat, request=request, topics=topics, now_ms=now_ms, config=config, fresh_member_id=fresh_member_id
        )
        if isinstance(group, ConsumerGroup):
            return (yield from decide(group))
        if request.member_epoch != JOINING_EPOCH:
            why = "Consumer group %s not found." if group is None else "Group %s is not a consumer group."
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, why % request.group_id)
        if group is None:
            return (yield from decide(ConsumerGroup(request.group_id)))
        if group.state is not ClassicGroupState.EMPTY:
            upgrade = yield from upgraded(group, topics=topics, config=config, now_ms=now_ms)
            return upgrade.before((yield from decide(upgrade.group)))
        outcome: AnyOutcome = yield from decide(ConsumerGroup(request.group_id))
        return outcome._replace(records=(*tombstones(group), *outcome.records))

    # Regular expressions

    def resolve(self, partition_index: int, group_id: str, wanted: ResolveTopics) -> None:
        """Find the topics of a group's regular expressions, unless that is already running."""
        if group_id not in self._resolving:
            self._resolving.add(group_id)
            self._upkeep.in_slices(partial(self._resolve, partition_index, group_id, wanted), _RESOLVING)

    def _resolve(self, partition_index: int, group_id: str, wanted: ResolveTopics) -> Steps[None]:
        topics = self.context.topics
        version, now_ms = topics.version, self._clock.now_ms()
        found: dict[str, list[str]] = {regex: [] for regex in wanted.regexes}
        try:
            for regex in wanted.regexes:
                try:
                    pattern = compiled(regex)
                except InvalidExpression:
                    continue  # in a record that another broker wrote: it matches nothing
                for name in sorted(topics.ids):
                    if pattern.matches(name) and wanted.may_describe(name):
                        found[regex].append(name)
                        if name in topics.ids:  # and was not deleted in the meantime
                            topics.hash(name)  # cached here, for the call when all are found: too many for one turn
                    yield
        finally:
            self._resolving.discard(group_id)
        results = {regex: ResolvedRegex(tuple(names), version, now_ms) for regex, names in found.items()}
        self._resolved(partition_index, group_id, results)

    def _resolved(self, partition_index: int, group_id: str, results: dict[str, ResolvedRegex]) -> None:
        for partition in self._partitions.loaded():
            if partition.index == partition_index:
                group = partition.machine.durable.consumers.get(group_id)
                try:
                    partition.shard.execute(group_id, regexes.resolved(group, results, topics=self.context.topics))
                except KafkaError as refusal:
                    _log.warning(line("topics not resolved", group=group_id, error=refusal))


def in_one_step(decide: Callable[[AnyGroup | None], AnyOutcome], group: AnyGroup | None) -> Steps[AnyOutcome]:
    """Yield before and after a decision with long follow-up work: it gets a turn of the event loop for itself."""
    yield
    outcome = decide(group)
    yield
    return outcome


def _prepared(partition: GroupPartition, group_id: str, steps: Steps[AnyOutcome]) -> Steps[AnyOutcome]:
    """Return the outcome of the steps; many or large records are encoded and replayed before they are written."""
    outcome = yield from steps
    if len(outcome.records) <= RECORDS_AT_ONCE and not any(map(is_large, outcome.records)):
        return outcome
    prepared = yield from partition.machine.prepared(group_id, outcome.records)
    yield
    return outcome._replace(prepared=prepared)


def _unless_changed(
    partition: GroupPartition, group: AnyGroup | None, group_id: str, steps: Steps[AnyOutcome]
) -> Steps[AnyOutcome | None]:
    """Return the outcome of the steps; None if the group is no longer the one that they began with."""
    changes = group.changes if isinstance(group, ConsumerGroup) else 0
    while True:
        try:
            next(steps)
        except StopIteration as over:
            outcome: AnyOutcome = over.value
            return outcome
        yield
        if _is_another(group, partition.machine.group(group_id)):
            return None
        if partition.shard.is_closed or (isinstance(group, ConsumerGroup) and group.changes != changes):
            return None


def _is_another(group: AnyGroup | None, now: AnyGroup | None) -> bool:
    """Return whether the group was replaced. An empty classic group is built from its record at each call."""
    if isinstance(group, Group) and group.state is ClassicGroupState.EMPTY:
        return now != group
    return now is not group


def _consumer_group(group: AnyGroup | None, group_id: str) -> ConsumerGroup:
    if isinstance(group, ConsumerGroup):
        return group
    why = f"Group {group_id} not found." if group is None else f"Group {group_id} is not a consumer group."
    raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, why)
