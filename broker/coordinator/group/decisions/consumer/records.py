# compiled: mypyc
"""The records of consumer groups in `__consumer_offsets`: built from values, and parsed to values.

A record is its key and its value as `protocol/log_records/group.py` declares them, types 3 to 8 and 16; a value of None
is a tombstone. Written as Kafka 4.4.0 does: of type 4 only tombstones.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable

from barnabas.broker.coordinator.group.decisions.consumer.assignors.model import Assignment
from barnabas.broker.coordinator.group.decisions.consumer.model import (
    NOTHING_OWNED,
    ClassicMetadata,
    ConsumerGroupMember,
    MemberState,
    Owned,
    ResolvedRegex,
)
from barnabas.broker.coordinator.group.decisions.modern.records import KeyedRecord
from barnabas.broker.coordinator.group.decisions.shared_texts import shared, shared_names
from barnabas.protocol.codec.schema import Stored
from barnabas.protocol.log_records import group as log


def epoch_bumped(group_id: str, epoch: int, metadata_hash: int) -> KeyedRecord:
    value = log.ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return KeyedRecord(log.ConsumerGroupMetadataKey(group_id=group_id), value)


def group_gone(group_id: str) -> KeyedRecord:
    return KeyedRecord(log.ConsumerGroupMetadataKey(group_id=group_id), None)


def partition_metadata_gone(group_id: str) -> KeyedRecord:
    return KeyedRecord(log.ConsumerGroupPartitionMetadataKey(group_id=group_id), None)


def member_stored(group_id: str, member: ConsumerGroupMember) -> KeyedRecord:
    """Return the record of a member's identity and subscription."""
    value = log.ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topic_names),
        subscribed_topic_regex=member.topic_regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.assignor,
        classic_member_metadata=None if member.classic is None else _classic_value(member.classic),
    )
    return KeyedRecord(_member_key(group_id, member.member_id), value)


def member_gone(group_id: str, member_id: str) -> KeyedRecord:
    return KeyedRecord(_member_key(group_id, member_id), None)


def targets_computed(group_id: str, epoch: int, timestamp_ms: int) -> KeyedRecord:
    """Return the record that makes this the epoch of all members' targets."""
    value = log.ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=timestamp_ms)
    return KeyedRecord(log.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), value)


def targets_gone(group_id: str) -> KeyedRecord:
    return KeyedRecord(log.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None)


def target_stored(group_id: str, member_id: str, target: Assignment) -> KeyedRecord:
    """Return the record of the member's target, in the order of the assignor (`assignors.model.Assignment`)."""
    topics = [log.TopicPartition(topic_id=each, partitions=list(numbers)) for each, numbers in target.items()]
    value = log.ConsumerGroupTargetAssignmentMemberValue(topic_partitions=topics)
    return KeyedRecord(_target_key(group_id, member_id), value)


def target_gone(group_id: str, member_id: str) -> KeyedRecord:
    return KeyedRecord(_target_key(group_id, member_id), None)


def current_stored(group_id: str, member: ConsumerGroupMember) -> KeyedRecord:
    """Return the record of the member's partitions and epoch."""
    value = log.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.member_epoch,
        previous_member_epoch=member.previous_member_epoch,
        state=member.state.value,
        assigned_partitions=_with_epochs(member.assigned),
        partitions_pending_revocation=_with_epochs(member.pending_revocation),
    )
    return KeyedRecord(_current_key(group_id, member.member_id), value)


def current_gone(group_id: str, member_id: str) -> KeyedRecord:
    return KeyedRecord(_current_key(group_id, member_id), None)


def regex_resolved(group_id: str, regex: str, resolved: ResolvedRegex) -> KeyedRecord:
    value = log.ConsumerGroupRegularExpressionValue(
        topics=list(resolved.topics), version=resolved.version, timestamp=resolved.timestamp_ms
    )
    return KeyedRecord(_regex_key(group_id, regex), value)


def regex_gone(group_id: str, regex: str) -> KeyedRecord:
    return KeyedRecord(_regex_key(group_id, regex), None)


def everything_gone(
    group_id: str, member_ids: Collection[str], regexes: Iterable[str]
) -> Generator[KeyedRecord, None, None]:
    """Yield the tombstones of a whole group, in Kafka's order."""
    yield from (current_gone(group_id, member_id) for member_id in member_ids)
    yield from (target_gone(group_id, member_id) for member_id in member_ids)
    yield targets_gone(group_id)
    yield from (member_gone(group_id, member_id) for member_id in member_ids)
    yield from (regex_gone(group_id, regex) for regex in regexes)
    yield partition_metadata_gone(group_id)
    yield group_gone(group_id)


def member_of(value: log.ConsumerGroupMemberMetadataValue, before: ConsumerGroupMember) -> ConsumerGroupMember:
    """Return the member with the fields of its metadata record."""
    return before._replace(
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        client_id=shared(value.client_id),
        client_host=shared(value.client_host),
        topic_names=shared_names(tuple(dict.fromkeys(value.subscribed_topic_names))),
        topic_regex=value.subscribed_topic_regex,
        assignor=value.server_assignor,
        classic=_classic(value.classic_member_metadata),
    )


def reconciled(
    value: log.ConsumerGroupCurrentMemberAssignmentValue, before: ConsumerGroupMember
) -> ConsumerGroupMember:
    """Return the member with the partitions and epoch of its record."""
    epoch = max(value.member_epoch, 0)  # for partitions whose record, an older one, does not have their epochs
    return before.with_partitions(
        value.member_epoch,
        value.previous_member_epoch,
        MemberState(value.state),
        _owned(value.assigned_partitions, epoch),
        _owned(value.partitions_pending_revocation, epoch),
    )


def _classic_value(classic: ClassicMetadata) -> log.ClassicMemberMetadata:
    protocols = [log.ClassicProtocol(name=name, metadata=metadata) for name, metadata in classic.protocols]
    return log.ClassicMemberMetadata(session_timeout_ms=classic.session_timeout_ms, supported_protocols=protocols)


def _classic(value: log.ClassicMemberMetadata | None) -> ClassicMetadata | None:
    if value is None:
        return None
    protocols = tuple((each.name, each.metadata) for each in value.supported_protocols)
    return ClassicMetadata(value.session_timeout_ms, protocols)


def _with_epochs(owned: Owned) -> list[log.TopicPartitions]:
    return [
        log.TopicPartitions(topic_id=topic_id, partitions=list(partitions), assignment_epochs=list(partitions.values()))
        for topic_id, partitions in owned.items()
    ]


def _owned(topics: Iterable[log.TopicPartitions], epoch: int) -> Owned:
    found: dict[bytes, dict[int, int]] = {}
    for topic in topics:
        epochs = topic.assignment_epochs or []
        if len(epochs) != len(topic.partitions):
            epochs = [epoch] * len(topic.partitions)
        found[topic.topic_id] = dict(zip(topic.partitions, epochs, strict=True))
    return found or NOTHING_OWNED  # most members have nothing to revoke, and share it


def _member_key(group_id: str, member_id: str) -> Stored:
    return log.ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id)


def _target_key(group_id: str, member_id: str) -> Stored:
    return log.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)


def _current_key(group_id: str, member_id: str) -> Stored:
    return log.ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)


def _regex_key(group_id: str, regex: str) -> Stored:
    return log.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex)
