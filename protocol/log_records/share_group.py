"""The records of share groups (KIP-932) in `__consumer_offsets`, types 10 to 15. `group.py` describes the format.

Type 15 lists the share partitions that have a state. The states themselves are in `__share_group_state`.
"""

from barnabas.protocol.codec.schema import INT8, INT32, INT64, STRING, UUID, Stored, array, field


class ShareGroupMemberMetadataKey(Stored, key=10, versions="0"):
    group_id: str = field(STRING)
    member_id: str = field(STRING)


class ShareGroupMemberMetadataValue(Stored, key=10, versions="0", flexible="0+"):
    rack_id: str | None = field(STRING, nullable="0+")
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    subscribed_topic_names: list[str] = field(array(STRING))


class ShareGroupMetadataKey(Stored, key=11, versions="0"):
    group_id: str = field(STRING)


class ShareGroupMetadataValue(Stored, key=11, versions="0", flexible="0+"):
    epoch: int = field(INT32)
    metadata_hash: int = field(INT64)


class ShareGroupTargetAssignmentMetadataKey(Stored, key=12, versions="0"):
    group_id: str = field(STRING)


class ShareGroupTargetAssignmentMetadataValue(Stored, key=12, versions="0", flexible="0+"):
    assignment_epoch: int = field(INT32)
    assignment_timestamp: int = field(INT64, default=0, tag=0)


class ShareGroupTargetAssignmentMemberKey(Stored, key=13, versions="0"):
    group_id: str = field(STRING)
    member_id: str = field(STRING)


class AssignedTopic(Stored):
    topic_id: bytes = field(UUID)
    partitions: list[int] = field(array(INT32))


class ShareGroupTargetAssignmentMemberValue(Stored, key=13, versions="0", flexible="0+"):
    topic_partitions: list[AssignedTopic] = field(array(AssignedTopic))


class ShareGroupCurrentMemberAssignmentKey(Stored, key=14, versions="0"):
    group_id: str = field(STRING)
    member_id: str = field(STRING)


class ShareGroupCurrentMemberAssignmentValue(Stored, key=14, versions="0", flexible="0+"):
    member_epoch: int = field(INT32)
    previous_member_epoch: int = field(INT32)
    state: int = field(INT8)  # always 0, stable
    assigned_partitions: list[AssignedTopic] = field(array(AssignedTopic))


class ShareGroupStatePartitionMetadataKey(Stored, key=15, versions="0"):
    group_id: str = field(STRING)


class TopicPartitionsInfo(Stored):
    topic_id: bytes = field(UUID)
    topic_name: str = field(STRING)
    partitions: list[int] = field(array(INT32))


class TopicInfo(Stored):
    topic_id: bytes = field(UUID)
    topic_name: str = field(STRING)


class ShareGroupStatePartitionMetadataValue(Stored, key=15, versions="0", flexible="0+"):
    initializing_topics: list[TopicPartitionsInfo] = field(array(TopicPartitionsInfo))
    initialized_topics: list[TopicPartitionsInfo] = field(array(TopicPartitionsInfo))
    deleting_topics: list[TopicInfo] = field(array(TopicInfo))


KEYS: dict[int, type[Stored]] = {
    10: ShareGroupMemberMetadataKey,
    11: ShareGroupMetadataKey,
    12: ShareGroupTargetAssignmentMetadataKey,
    13: ShareGroupTargetAssignmentMemberKey,
    14: ShareGroupCurrentMemberAssignmentKey,
    15: ShareGroupStatePartitionMetadataKey,
}
VALUES: dict[int, type[Stored]] = {
    10: ShareGroupMemberMetadataValue,
    11: ShareGroupMetadataValue,
    12: ShareGroupTargetAssignmentMetadataValue,
    13: ShareGroupTargetAssignmentMemberValue,
    14: ShareGroupCurrentMemberAssignmentValue,
    15: ShareGroupStatePartitionMetadataValue,
}
