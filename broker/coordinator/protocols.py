"""Requests of the classic protocol for groups of either kind.

An empty group of the consumer protocol makes room for a classic one. One with members cannot be joined with the classic
protocol, and none of its members speaks it; LeaveGroup, as administrators send it, removes them all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from barnabas.broker.coordinator.group.classic.model import Group, JoinReply, LeavingMember
from barnabas.broker.coordinator.group.consumer.checks import known_member, known_static_member
from barnabas.broker.coordinator.group.consumer.group import ConsumerGroup
from barnabas.broker.coordinator.group.consumer.leaving import remove
from barnabas.broker.coordinator.group.consumer.model import Topics
from barnabas.broker.coordinator.group.kinds import AnyGroup, AnyOutcome, tombstones
from barnabas.broker.coordinator.runtime.outcome import Outcome
from barnabas.protocol.errors import ErrorCode, KafkaError

Decide = Callable[[Group | None], AnyOutcome]


def classic_join(group: AnyGroup | None, decide: Decide) -> AnyOutcome:
    """JoinGroup."""
    if not isinstance(group, ConsumerGroup):
        return decide(group)
    if group.members:
        return Outcome(reply=JoinReply(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, ""))
    outcome = decide(None)
    if not outcome.records:
        return outcome  # it was refused
    return outcome._replace(records=(*tombstones(group), *outcome.records))


def classic_request(
    group: AnyGroup | None,
    *,
    member: tuple[str, str | None],
    refused: Callable[[ErrorCode], Any],
    decide: Decide,
) -> AnyOutcome:
    """SyncGroup and Heartbeat of a member (member id, instance id); `refused` makes the reply of a code."""
    if not isinstance(group, ConsumerGroup):
        return decide(group)
    member_id, instance_id = member
    try:
        if instance_id is None:
            known_member(group, member_id)
        else:
            known_static_member(group, member_id, instance_id)
    except KafkaError as error:
        return Outcome(reply=refused(error.code))
    return Outcome(reply=refused(ErrorCode.UNKNOWN_MEMBER_ID))  # of the classic protocol, that is


def classic_leave(
    group: AnyGroup | None, *, leaving: Sequence[LeavingMember], topics: Topics, decide: Decide
) -> AnyOutcome:
    """LeaveGroup."""
    if not isinstance(group, ConsumerGroup):
        return decide(group)
    return remove(group, leaving, topics=topics)
