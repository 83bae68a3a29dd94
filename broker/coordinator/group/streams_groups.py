"""Streams groups (KIP-1071): the interface of the group coordinator for the request handlers.

Calls the decisions in `decisions/streams`, and has `GroupDecisions` carry them out. Internal topics that a topology
lacks are in the reply to a heartbeat; its handler creates them. Imported at the first use of a streams group.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from barnabas.broker.coordinator.group.decisions.classic.model import Group
from barnabas.broker.coordinator.group.decisions.classic.states import ClassicGroupState
from barnabas.broker.coordinator.group.decisions.group_types import AnyGroup, AnyOutcome, check_group_id, tombstones
from barnabas.broker.coordinator.group.decisions.modern.members import JOINING_EPOCH
from barnabas.broker.coordinator.group.decisions.streams import leaving
from barnabas.broker.coordinator.group.decisions.streams.checks import check_request
from barnabas.broker.coordinator.group.decisions.streams.group import StreamsGroup
from barnabas.broker.coordinator.group.decisions.streams.heartbeat import heartbeat
from barnabas.broker.coordinator.group.decisions.streams.model import (
    StreamsContext,
    StreamsHeartbeatReply,
    StreamsHeartbeatRequest,
)
from barnabas.broker.coordinator.group.group_decisions import GroupDecisions, GroupPartitions
from barnabas.broker.coordinator.group.group_partition import GroupPartition
from barnabas.broker.coordinator.runtime.outcome import TimerKey
from barnabas.broker.runtime.clock import Clock
from barnabas.broker.runtime.replies import Reply
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.steps import Steps


class StreamsGroups:
    """The streams groups of this broker."""

    def __init__(
        self, context: StreamsContext, partitions: GroupPartitions, decisions: GroupDecisions, clock: Clock
    ) -> None:
        self.context = context
        self._partitions = partitions
        self._decisions = decisions
        self._clock = clock

    def heartbeat(self, request: StreamsHeartbeatRequest) -> Reply[StreamsHeartbeatReply]:
        """Handle StreamsGroupHeartbeat. Raises KafkaError with Kafka's error message."""
        check_request(request)
        check_group_id(request.group_id, may_be_empty=True)
        return self._decisions.in_steps(request.group_id, partial(self._heartbeat, request))

    def describe(self, group_id: str) -> StreamsGroup:
        """Return one group in its current state, only for reading. Raises KafkaError GROUP_ID_NOT_FOUND."""
        check_group_id(group_id, may_be_empty=True)
        return _streams_group(self._partitions.of(group_id).machine.group(group_id), group_id)

    def fire(self, group_id: str, timer: TimerKey) -> Reply[None]:
        """Decide what the timer of a streams group does, and carry it out. KafkaError."""
        return self._decisions.in_steps(group_id, partial(self._fired, group_id, timer))

    def loaded(self, partition: GroupPartition) -> Iterator[tuple[str, AnyOutcome]]:
        """Yield what to do for the groups of a partition that was loaded: the members' sessions start."""
        for group_id, group in list(partition.machine.durable.modern.items()):
            if isinstance(group, StreamsGroup):
                yield group_id, leaving.loaded(group, config=self.context.config_of(group_id))

    def _fired(self, group_id: str, timer: TimerKey, group: AnyGroup | None) -> Steps[AnyOutcome]:
        config = self.context.config_of(group_id)
        known = group if isinstance(group, StreamsGroup) else None
        return leaving.timer_fired(known, timer, config=config, now_ms=self._clock.now_ms())

    def _heartbeat(self, request: StreamsHeartbeatRequest, group: AnyGroup | None) -> Steps[AnyOutcome]:
        group_id = request.group_id
        if request.member_epoch < JOINING_EPOCH:
            return leaving.leave(_streams_group(group, group_id), request)
        if request.member_epoch > JOINING_EPOCH and group is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Streams group {group_id} not found.")
        decide = partial(
            heartbeat,
            request=request,
            topics=self.context.topics,
            now_ms=self._clock.now_ms(),
            config=self.context.config_of(group_id),
        )
        may_begin = request.member_epoch == JOINING_EPOCH
        if may_begin and (group is None or _is_empty_classic(group)):
            begun: AnyOutcome = yield from decide(StreamsGroup(group_id))
            return begun if group is None else begun._replace(records=(*tombstones(group), *begun.records))
        return (yield from decide(_streams_group(group, group_id)))


def _is_empty_classic(group: AnyGroup) -> bool:
    return isinstance(group, Group) and group.state is ClassicGroupState.EMPTY


def _streams_group(group: AnyGroup | None, group_id: str) -> StreamsGroup:
    if isinstance(group, StreamsGroup):
        return group
    why = f"Group {group_id} not found." if group is None else f"Group {group_id} is not a streams group."
    raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, why)
