"""The decisions about JoinGroup to a consumer group with members: a classic member is added, or rejoins.

Its metadata has the same data as a heartbeat of the consumer protocol, and the member's next step is taken for it. The
reply is immediate: there is no join phase, and no leader. SyncGroup then returns the assignment.
"""

from __future__ import annotations

from collections.abc import Generator

from barnabas.broker.coordinator.group.decisions.classic.model import GroupConfig, JoinReply, JoinRequest
from barnabas.broker.coordinator.group.decisions.consumer.group import CONSUMER_PROTOCOL, ConsumerGroup
from barnabas.broker.coordinator.group.decisions.consumer.heartbeat import replacement, take_step
from barnabas.broker.coordinator.group.decisions.consumer.model import (
    ClassicMetadata,
    ConsumerContext,
    ConsumerGroupMember,
    HeartbeatRequest,
    Topics,
)
from barnabas.broker.coordinator.group.decisions.consumer.timers import join_timer, sync_timer
from barnabas.broker.coordinator.group.decisions.group_types import AnyOutcome
from barnabas.broker.coordinator.group.decisions.migration import downgrade
from barnabas.broker.coordinator.group.decisions.migration.embedded import owned_partitions
from barnabas.broker.coordinator.group.decisions.modern.members import (
    JOINING_EPOCH,
    check_group_size,
    known_static_member,
)
from barnabas.broker.coordinator.runtime.outcome import CancelTimer, Outcome, SetTimer
from barnabas.protocol.errors import DecodeError, ErrorCode, KafkaError
from barnabas.protocol.log_records.consumer_protocol import decode_subscription


def join(
    group: ConsumerGroup,
    request: JoinRequest,
    *,
    fresh_member_id: str,
    context: ConsumerContext,
    config: GroupConfig,
    now_ms: int,
) -> Generator[None, None, AnyOutcome]:
    """Decide a JoinGroup, in steps like a heartbeat; the reply is a JoinReply."""
    try:
        return (yield from _joined(group, request, request.member_id or fresh_member_id, context, config, now_ms))
    except KafkaError as refusal:
        return Outcome(reply=JoinReply(refusal.code, ""))


def _joined(
    group: ConsumerGroup,
    request: JoinRequest,
    member_id: str,
    context: ConsumerContext,
    classic_config: GroupConfig,
    now_ms: int,
) -> Generator[None, None, AnyOutcome]:
    topics, config = context.topics, context.config_of(group.group_id)
    if not config.migration_policy.lets_classic_members_in:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    takes_place = group.static_member(request.group_instance_id) is not None
    check_group_size(group, member_id, config.max_size, takes_place=takes_place)
    if not group.takes_classic_protocols(request.protocol_type, (name for name, _ in request.protocols)):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if request.requires_known_member_id and not request.member_id and request.group_instance_id is None:
        return Outcome(reply=JoinReply(ErrorCode.MEMBER_ID_REQUIRED, member_id))
    before, replaced = _member(group, request, member_id)
    holder = group.static_member(request.group_instance_id)
    is_last = holder is not None and downgrade.is_last_replaced(
        group, holder, config=config, max_size=classic_config.max_size
    )
    step = yield from take_step(
        group,
        before,
        replaced,
        _as_heartbeat(request, member_id, topics),
        topics=topics,
        now_ms=now_ms,
        config=config,
        is_for_good=not is_last,
    )
    reply = JoinReply(
        ErrorCode.NONE,
        member_id,
        generation_id=step.member.member_epoch,
        protocol_type=CONSUMER_PROTOCOL,
        protocol_name=request.protocols[0][0],
    )
    if holder is not None and is_last:
        outcome = yield from downgrade.replaced(
            group,
            holder,
            step.member,
            is_balanced=not step.is_target_old,
            topics=topics,
            config=classic_config,
            now_ms=now_ms,
        )
        return outcome._replace(records=(*step.records, *outcome.records), reply=reply)
    timers = CancelTimer(join_timer(member_id)), SetTimer(sync_timer(member_id), request.rebalance_timeout_ms)
    return Outcome(records=step.records, volatile=step.seen, reply=reply, effects=(*step.effects, *timers))


def _member(
    group: ConsumerGroup, request: JoinRequest, member_id: str
) -> tuple[ConsumerGroupMember, ConsumerGroupMember | None]:
    """Return the former state, and the replaced member, if any. UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID."""
    if request.group_instance_id is None:
        return group.members.get(member_id, ConsumerGroupMember(member_id)), None
    if request.member_id:
        return known_static_member(group, member_id, request.group_instance_id), None
    holder = group.static_member(request.group_instance_id)
    if holder is None:
        return ConsumerGroupMember(member_id), None
    return replacement(holder, member_id), holder


def _as_heartbeat(request: JoinRequest, member_id: str, topics: Topics) -> HeartbeatRequest:
    """Return the request as a heartbeat. INCONSISTENT_GROUP_PROTOCOL if the metadata is of another type."""
    try:
        subscription = decode_subscription(request.protocols[0][1])
    except DecodeError as malformed:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL) from malformed
    return HeartbeatRequest(
        request.group_id,
        member_id,
        JOINING_EPOCH,
        request.group_instance_id,
        subscription.rack_id or None,
        request.rebalance_timeout_ms,
        tuple(subscription.topics),
        topic_regex="",
        owned=owned_partitions(subscription, topics),
        client_id=request.client_id,
        client_host=request.client_host,
        may_describe=request.may_describe,
        classic=ClassicMetadata(request.session_timeout_ms, request.protocols),
    )
