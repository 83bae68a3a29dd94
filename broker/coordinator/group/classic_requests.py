"""Requests of the classic protocol for groups of any type: which code decides them.

An empty consumer or streams group is replaced by a classic one. A consumer group may have members that use the classic
protocol: `group/migration` decides their requests. No other type of group has such members.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.broker.coordinator.group.decisions.classic.model import Group
from barnabas.broker.coordinator.group.decisions.consumer.group import ConsumerGroup
from barnabas.broker.coordinator.group.decisions.group_types import STREAMS_TYPE, AnyGroup, AnyOutcome, tombstones
from barnabas.broker.coordinator.runtime.outcome import Outcome
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.steps import Steps

OfClassic = Callable[[Group | None], AnyOutcome]
OfConsumer = Callable[[ConsumerGroup], AnyOutcome]


def classic_join(
    group: AnyGroup | None,
    *,
    of_classic: OfClassic,
    of_consumer: Callable[[ConsumerGroup], Steps[AnyOutcome]],
    refused: Any,
) -> Steps[AnyOutcome]:
    """Decide a JoinGroup, in steps: a member that joins a consumer group may need a new target.

    `refused` is the reply for a group of a type without classic members.
    """
    if group is None or isinstance(group, Group):
        return of_classic(group)
    if isinstance(group, ConsumerGroup) and group.members:
        return (yield from of_consumer(group))
    if group.members or not (isinstance(group, ConsumerGroup) or group.group_type == STREAMS_TYPE):
        return Outcome(reply=refused)
    outcome = of_classic(None)
    if not outcome.records:
        return outcome  # it was refused
    return outcome._replace(records=(*tombstones(group), *outcome.records))


def classic_leave(
    group: AnyGroup | None,
    *,
    of_classic: OfClassic,
    of_consumer: Callable[[ConsumerGroup], Steps[AnyOutcome]],
    refused: Any,
) -> Steps[AnyOutcome]:
    """Decide a LeaveGroup, in steps: the group may be downgraded. `refused` is the same as in `classic_join`."""
    if group is None or isinstance(group, Group):
        return of_classic(group)
    if not isinstance(group, ConsumerGroup):
        return Outcome(reply=refused)
    return (yield from of_consumer(group))


def classic_request(
    group: AnyGroup | None,
    *,
    of_classic: OfClassic,
    of_consumer: OfConsumer,
    refused: Callable[[ErrorCode], Any],
) -> AnyOutcome:
    """Decide a SyncGroup or Heartbeat; `refused` makes a reply from an error code."""
    if group is None or isinstance(group, Group):
        return of_classic(group)
    if not isinstance(group, ConsumerGroup):
        return Outcome(reply=refused(ErrorCode.UNKNOWN_MEMBER_ID))
    try:
        return of_consumer(group)
    except KafkaError as refusal:
        return Outcome(reply=refused(refusal.code))
