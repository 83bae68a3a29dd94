"""The records of share groups in `__consumer_offsets`: built from values, and parsed to values.

Types 10 to 15, as `protocol/log_records/share_group.py` declares them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable

from barnabas.broker.coordinator.group.decisions.modern.records import KeyedRecord
from barnabas.broker.coordinator.group.decisions.share.model import (
    BegunTopic,
    BegunTopics,
    SharedPartitions,
    ShareGroupMember,
    ShareStates,
)
from barnabas.broker.coordinator.group.decisions.shared_texts import shared, shared_names
from barnabas.protocol.log_records import share_group as log

_STABLE = 0


def share_member_stored(group_id: str, member: ShareGroupMember) -> KeyedRecord:
    """Return the record of a member's identity and subscription."""
    value = log.ShareGroupMemberMetadataValue(
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topic_names),
    )
    return KeyedRecord(log.ShareGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id), value)


def share_epoch_bumped(group_id: str, epoch: int, metadata_hash: int) -> KeyedRecord:
    """Return the record of the group's epoch."""
    value = log.ShareGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return KeyedRecord(log.ShareGroupMetadataKey(group_id=group_id), value)


def share_targets_computed(group_id: str, epoch: int, timestamp_ms: int) -> KeyedRecord:
    """Return the record of the epoch of the target assignment."""
    value = log.ShareGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=timestamp_ms)
    return KeyedRecord(log.ShareGroupTargetAssignmentMetadataKey(group_id=group_id), value)


def share_target_stored(group_id: str, member_id: str, target: SharedPartitions) -> KeyedRecord:
    """Return the record of a member's target."""
    value = log.ShareGroupTargetAssignmentMemberValue(topic_partitions=_topics(target))
    return KeyedRecord(log.ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), value)


def share_current_stored(group_id: str, member: ShareGroupMember) -> KeyedRecord:
    """Return the record of a member's partitions and epoch."""
    value = log.ShareGroupCurrentMemberAssignmentValue(
        member_epoch=member.member_epoch,
        previous_member_epoch=member.previous_member_epoch,
        state=_STABLE,
        assigned_partitions=_topics(member.assigned),
    )
    return KeyedRecord(log.ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id), value)


def share_states_stored(group_id: str, states: ShareStates) -> KeyedRecord:
    """Return the record of the share partitions that have a state."""
    value = log.ShareGroupStatePartitionMetadataValue(
        initializing_topics=_begun(states.initializing),
        initialized_topics=_begun(states.initialized),
        deleting_topics=[log.TopicInfo(topic_id=each, topic_name=name) for each, name in states.deleting.items()],
    )
    return KeyedRecord(log.ShareGroupStatePartitionMetadataKey(group_id=group_id), value)


def share_member_gone(group_id: str, member_id: str) -> tuple[KeyedRecord, ...]:
    """Return the tombstones of a member, in Kafka's order."""
    return (
        KeyedRecord(log.ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None),
        KeyedRecord(log.ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None),
        KeyedRecord(log.ShareGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None),
    )


def share_group_gone(group_id: str, member_ids: Iterable[str]) -> Generator[KeyedRecord, None, None]:
    """Yield the tombstones of a whole group, in Kafka's order."""
    of_members = [share_member_gone(group_id, member_id) for member_id in member_ids]
    yield from (current for current, _, _ in of_members)
    yield from (target for _, target, _ in of_members)
    yield KeyedRecord(log.ShareGroupTargetAssignmentMetadataKey(group_id=group_id), None)
    yield from (member for _, _, member in of_members)
    yield KeyedRecord(log.ShareGroupStatePartitionMetadataKey(group_id=group_id), None)
    yield KeyedRecord(log.ShareGroupMetadataKey(group_id=group_id), None)


def share_member_of(value: log.ShareGroupMemberMetadataValue, before: ShareGroupMember) -> ShareGroupMember:
    """Return the member with the fields of its metadata record."""
    return before._replace(
        rack_id=value.rack_id,
        client_id=shared(value.client_id),
        client_host=shared(value.client_host),
        topic_names=shared_names(tuple(dict.fromkeys(value.subscribed_topic_names))),
    )


def share_states_of(value: log.ShareGroupStatePartitionMetadataValue) -> ShareStates:
    """Return the value of the record of states."""
    return ShareStates(
        _begun_of(value.initializing_topics),
        _begun_of(value.initialized_topics),
        {each.topic_id: each.topic_name for each in value.deleting_topics},
    )


def partitions_of_topics(topics: Iterable[log.AssignedTopic]) -> SharedPartitions:
    """Return the partitions of a record."""
    return {each.topic_id: tuple(each.partitions) for each in topics}


def _topics(partitions: SharedPartitions) -> list[log.AssignedTopic]:
    return [log.AssignedTopic(topic_id=each, partitions=list(numbers)) for each, numbers in partitions.items()]


def _begun(topics: BegunTopics) -> list[log.TopicPartitionsInfo]:
    return [
        log.TopicPartitionsInfo(topic_id=topic_id, topic_name=topic.name, partitions=sorted(topic.partitions))
        for topic_id, topic in topics.items()
    ]


def _begun_of(topics: Iterable[log.TopicPartitionsInfo]) -> BegunTopics:
    return {each.topic_id: BegunTopic(each.topic_name, frozenset(each.partitions)) for each in topics}
