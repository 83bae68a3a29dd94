# compiled: mypyc
"""Consumer groups (KIP-848): the interface of the group coordinator for the request handlers.

Calls the decisions in `decisions/consumer`, and has `GroupDecisions` carry them out. The topics that match regular
expressions are searched here, in slices, because there may be many of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from barnabas.broker.coordinator.group.decisions.classic.model import Group, GroupConfig
from barnabas.broker.coordinator.group.decisions.classic.states import ClassicGroupState
from barnabas.broker.coordinator.group.decisions.consumer import leaving, regexes
from barnabas.broker.coordinator.group.decisions.consumer.checks import check_request
from barnabas.broker.coordinator.group.decisions.consumer.expressions import InvalidExpression, compiled
from barnabas.broker.coordinator.group.decisions.consumer.group import ConsumerGroup
from barnabas.broker.coordinator.group.decisions.consumer.heartbeat import heartbeat
from barnabas.broker.coordinator.group.decisions.consumer.model import (
    ConsumerConfig,
    ConsumerContext,
    ConsumerGroupMember,
    HeartbeatReply,
    HeartbeatRequest,
    ResolvedRegex,
)
from barnabas.broker.coordinator.group.decisions.group_types import AnyGroup, AnyOutcome, check_group_id, tombstones
from barnabas.broker.coordinator.group.decisions.migration.downgrade import members_gone
from barnabas.broker.coordinator.group.decisions.migration.upgrade import upgraded
from barnabas.broker.coordinator.group.decisions.modern.members import JOINING_EPOCH
from barnabas.broker.coordinator.group.group_decisions import GroupDecisions, GroupPartitions
from barnabas.broker.coordinator.runtime.outcome import ResolveTopics, TimerKey
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.runtime.replies import Reply
from barnabas.broker.runtime.scheduler import CooperativeScheduler, WorkClass
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.steps import Steps

_log = logger("coordinator")

_RESOLVING = WorkClass(steps_max=500, slice_ms=5, may_begin_again=False)


class ConsumerGroups:
    """The consumer groups of this broker."""

    def __init__(
        self,
        context: ConsumerContext,
        classic: GroupConfig,
        partitions: GroupPartitions,
        decisions: GroupDecisions,
        clock: Clock,
        upkeep: CooperativeScheduler,
        fresh_id: Callable[[], str],
    ) -> None:
        self.context = context
        self._classic = classic
        self._partitions = partitions
        self._decisions = decisions
        self._clock = clock
        self._upkeep = upkeep
        self._fresh_id = fresh_id
        self._resolving: set[str] = set()

    def heartbeat(self, request: HeartbeatRequest) -> Reply[HeartbeatReply]:
        """Handle ConsumerGroupHeartbeat. Raises KafkaError with Kafka's error message."""
        config = self.context.config_of(request.group_id)
        check_request(request, config)
        check_group_id(request.group_id, may_be_empty=True)
        fresh_member_id = "" if request.member_id else self._fresh_id()
        decide = partial(self._heartbeat, request=request, config=config, fresh_member_id=fresh_member_id)
        return self._decisions.in_steps(request.group_id, decide)

    def describe(self, group_id: str) -> ConsumerGroup:
        """Return one group in its current state, only for reading. Raises KafkaError GROUP_ID_NOT_FOUND."""
        check_group_id(group_id, may_be_empty=True)
        return _consumer_group(self._partitions.of(group_id).machine.group(group_id), group_id)

    def fire(self, group_id: str, timer: TimerKey) -> Reply[None]:
        """Decide what the timer of a consumer group does, and carry it out. KafkaError."""
        return self._decisions.in_steps(group_id, partial(self._fired, timer))

    def _fired(self, timer: TimerKey, group: AnyGroup | None) -> Steps[AnyOutcome]:
        return leaving.timer_fired(group if isinstance(group, ConsumerGroup) else None, timer, fence=self.fence)

    def fence(self, group: ConsumerGroup, members: Sequence[ConsumerGroupMember]) -> Steps[AnyOutcome]:
        """Decide what follows when members left (`leaving.Fence`): the group may become a classic one."""
        now_ms = self._clock.now_ms()
        return members_gone(group, members, context=self.context, config=self._classic, now_ms=now_ms)

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
        if not isinstance(group, Group):
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {request.group_id} is not a consumer group.")
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
                group = partition.machine.durable.consumer(group_id)
                try:
                    partition.shard.execute(group_id, regexes.resolved(group, results, topics=self.context.topics))
                except KafkaError as refusal:
                    _log.warning(line("topics not resolved", group=group_id, error=refusal))


def _consumer_group(group: AnyGroup | None, group_id: str) -> ConsumerGroup:
    if isinstance(group, ConsumerGroup):
        return group
    why = f"Group {group_id} not found." if group is None else f"Group {group_id} is not a consumer group."
    raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, why)
