"""The upgrade of a classic group to a consumer group, because a member of the consumer protocol joins it.

The records of the new group have the data of the classic group's last generation: the generation is the epoch of the
group, of the assignment and of each member, and the leader's assignment is both the target and the current assignment
of each member. The joining member then makes the next epoch. Members that waited in a rebalance get
REBALANCE_IN_PROGRESS: they rejoin, by the classic protocol, and are members of the consumer group from then on.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

from barnabas.broker.coordinator.group.decisions.classic import draft as classic_draft
from barnabas.broker.coordinator.group.decisions.classic import model as classic
from barnabas.broker.coordinator.group.decisions.consumer import records, timers
from barnabas.broker.coordinator.group.decisions.consumer.assignors.input_order import timeline_order
from barnabas.broker.coordinator.group.decisions.consumer.group import CONSUMER_PROTOCOL, ConsumerGroup
from barnabas.broker.coordinator.group.decisions.consumer.model import (
    ClassicMetadata,
    ConsumerConfig,
    ConsumerGroupMember,
    Topics,
)
from barnabas.broker.coordinator.group.decisions.consumer.replay import CONSUMER_REPLAY
from barnabas.broker.coordinator.group.decisions.consumer.subscriptions import metadata_hash
from barnabas.broker.coordinator.group.decisions.group_types import AnyOutcome, AnyRecord
from barnabas.broker.coordinator.group.decisions.migration.embedded import assigned_partitions
from barnabas.broker.coordinator.group.decisions.modern.group import ModernGroup
from barnabas.broker.coordinator.runtime.outcome import CancelTimer, Effect, SetTimer
from barnabas.broker.coordinator.runtime.partition_for import utf16
from barnabas.protocol.errors import DecodeError, ErrorCode, KafkaError
from barnabas.protocol.log_records.consumer_protocol import decode_assignment, decode_subscription

_AT_ANY_TIME_MS = 0


class Upgrade(NamedTuple):
    """A classic group as a consumer group, and the records and effects of the upgrade."""

    group: ConsumerGroup
    records: tuple[AnyRecord, ...]
    effects: tuple[Effect, ...]

    def before(self, outcome: AnyOutcome) -> AnyOutcome:
        """Return the outcome of a decision about the new group, with the upgrade in the same batch."""
        return outcome._replace(records=(*self.records, *outcome.records), effects=(*self.effects, *outcome.effects))


def upgraded(
    group: classic.Group, *, topics: Topics, config: ConsumerConfig, now_ms: int
) -> Generator[None, None, Upgrade]:
    """Decide the upgrade of a group with members. GROUP_ID_NOT_FOUND with Kafka's message if it is not possible.

    Runs in steps: the group must not change in between.
    """
    _check(group, config)
    by_id: dict[str, ConsumerGroupMember] = {}
    for each in group.members.values():
        by_id[each.member_id] = _member(group, each, topics)
        yield
    in_order = yield from timeline_order(by_id, len(by_id))
    members = [by_id[member_id] for member_id in in_order]
    names = {name: None for member in members for name in member.topic_names}
    group_id, epoch = group.group_id, group.generation_id
    written = (
        *(records.member_stored(group_id, member) for member in members),
        records.epoch_bumped(group_id, epoch, metadata_hash(names, topics)),
        *(records.target_stored(group_id, each.member_id, _target(each)) for each in members),
        records.targets_computed(group_id, epoch, _AT_ANY_TIME_MS),
        *(records.current_stored(group_id, member) for member in members),
    )
    built: dict[str, ModernGroup] = {}
    for record in written:
        CONSUMER_REPLAY.replay(built, group_id, record)
        yield
    consumer_group = built[group_id]
    assert isinstance(consumer_group, ConsumerGroup), "the records are those of a consumer group"
    gone = classic.GroupStored(group_id, None)
    return Upgrade(consumer_group, (gone, *written), tuple(_effects(group, members, config, now_ms)))


def _check(group: classic.Group, config: ConsumerConfig) -> None:
    if not config.migration_policy.may_upgrade:
        raise _refusal(group, "online upgrade is disabled")
    if group.protocol_type != CONSUMER_PROTOCOL:
        raise _refusal(group, "the group does not use the consumer embedded protocol")
    if len(group.members) > config.max_size:
        raise _refusal(group, "the group size exceeds the consumer group maximum size")


def _refusal(group: classic.Group, why: str) -> KafkaError:
    return KafkaError(
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Cannot upgrade classic group {group.group_id} to consumer group because {why}.",
    )


def _member(group: classic.Group, member: classic.ClassicGroupMember, topics: Topics) -> ConsumerGroupMember:
    try:
        assignment = decode_assignment(member.assignment) if member.assignment else None
        subscription = decode_subscription(_metadata(group, member))
    except DecodeError as malformed:
        raise _refusal(group, "the embedded consumer protocol is malformed") from malformed
    if assignment is not None and assignment.user_data:
        raise _refusal(
            group,
            "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default "
            "assignor before re-attempting the upgrade",
        )
    assigned = {} if assignment is None else assigned_partitions(assignment, topics)
    return ConsumerGroupMember(
        member.member_id,
        member_epoch=group.generation_id,
        previous_member_epoch=group.generation_id,
        instance_id=member.group_instance_id,
        rack_id=subscription.rack_id or None,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        client_id=member.client_id,
        client_host=member.client_host,
        topic_names=tuple(sorted(set(subscription.topics), key=utf16)),
        assigned={topic_id: dict.fromkeys(numbers, group.generation_id) for topic_id, numbers in assigned.items()},
        classic=ClassicMetadata(member.session_timeout_ms, member.protocols),
    )


def _metadata(group: classic.Group, member: classic.ClassicGroupMember) -> bytes:
    """Return the metadata for the group's protocol; a new member may not support the one of the last generation."""
    return member.metadata(group.protocol_name) or member.protocols[0][1]


def _target(member: ConsumerGroupMember) -> dict[bytes, tuple[int, ...]]:
    return {topic_id: tuple(numbers) for topic_id, numbers in member.assigned.items()}


def _effects(
    group: classic.Group, members: list[ConsumerGroupMember], config: ConsumerConfig, now_ms: int
) -> list[Effect]:
    """Return the effects that end all waits, and replace all sessions by those of a consumer group."""
    draft = classic_draft.ClassicDraft(group, now_ms)
    for member_id in group.members:
        draft.answer_waiting(member_id, ErrorCode.REBALANCE_IN_PROGRESS)
    ended = [classic_draft.JOIN_TIMER, classic_draft.SYNC_TIMER]
    ended += map(classic_draft.session_timer, (*group.members, *group.pending))
    return [
        *draft.effects,
        *map(CancelTimer, ended),
        *(SetTimer(timers.session_timer(each.member_id), config.session_timeout_of(each)) for each in members),
    ]
