"""The records of the group coordinator, `__consumer_offsets`.

A log record's key is the type of the record (i16) and the fields of a `…Key` struct; its value is a version (i16) and
the fields of the `…Value` struct in that version, or null, which deletes. `versioned_messages.py` reads and writes
both.

Types 0 to 2 are for classic groups and for the offsets of all groups, 3 to 8 and 16 for groups of the consumer
protocol (KIP-848). Those of streams groups are in `streams_group.py`.
"""

from barnabas.protocol.codec.schema import BYTES, INT8, INT32, INT64, STRING, UUID, Stored, array, field
from barnabas.protocol.primitives import ZERO_UUID


class LegacyOffsetCommitKey(Stored, key=0, versions="0"):
    """The key of very old commits; read, never written."""

    group: str = field(STRING)
    topic: str = field(STRING)
    partition: int = field(INT32)


class LegacyOffsetCommitValue(Stored, key=0, versions="0"):
    offset: int = field(INT64)
    metadata: str = field(STRING)
    commit_timestamp: int = field(INT64)


class OffsetCommitKey(Stored, key=1, versions="0"):
    group: str = field(STRING)
    topic: str = field(STRING)
    partition: int = field(INT32)


class OffsetCommitValue(Stored, key=1, versions="0-4", flexible="4+"):
    offset: int = field(INT64)
    # of the last record consumed; -1: unknown
    leader_epoch: int = field(INT32, versions="3+", default=-1, ignorable=True)
    metadata: str = field(STRING)  # the client's own note; never null on disk
    commit_timestamp: int = field(INT64)
    expire_timestamp: int = field(INT64, versions="1", default=-1, ignorable=True)  # -1: by the retention of the broker
    topic_id: bytes = field(UUID, versions="4+", default=ZERO_UUID, tag=0, ignorable=True)


class GroupMetadataKey(Stored, key=2, versions="0"):
    group: str = field(STRING)


class MemberMetadata(Stored):
    member_id: str = field(STRING)
    group_instance_id: str | None = field(STRING, versions="3+", nullable="3+", default=None, ignorable=True)
    client_id: str = field(STRING)
    client_host: str = field(STRING)  # as Java prints it: /127.0.0.1
    rebalance_timeout: int = field(INT32, versions="1+", default=-1, ignorable=True)  # ms; -1: the session timeout
    session_timeout: int = field(INT32)  # ms
    subscription: bytes = field(BYTES)  # the member's metadata for the chosen protocol
    assignment: bytes = field(BYTES)


class GroupMetadataValue(Stored, key=2, versions="0-4", flexible="4+"):
    protocol_type: str = field(STRING)
    generation: int = field(INT32)
    protocol: str | None = field(STRING, nullable="0+")  # null while the group is empty
    leader: str | None = field(STRING, nullable="0+")  # null while the group is empty
    current_state_timestamp: int = field(INT64, versions="2+", default=-1, ignorable=True)
    members: list[MemberMetadata] = field(array(MemberMetadata))


class ConsumerGroupMetadataKey(Stored, key=3, versions="0"):
    group_id: str = field(STRING)


class ConsumerGroupMetadataValue(Stored, key=3, versions="0", flexible="0+"):
    epoch: int = field(INT32)
    metadata_hash: int = field(INT64, default=0, tag=0)


class ConsumerGroupPartitionMetadataKey(Stored, key=4, versions="0"):
    group_id: str = field(STRING)


class PartitionMetadata(Stored):
    partition: int = field(INT32)
    racks: list[str] = field(array(STRING))


class TopicMetadata(Stored):
    topic_id: bytes = field(UUID)
    topic_name: str = field(STRING)
    num_partitions: int = field(INT32)
    partition_metadata: list[PartitionMetadata] = field(array(PartitionMetadata))


class ConsumerGroupPartitionMetadataValue(Stored, key=4, versions="0", flexible="0+"):
    """Written up to 4.0, since then only deleted."""

    topics: list[TopicMetadata] = field(array(TopicMetadata))


class ConsumerGroupMemberMetadataKey(Stored, key=5, versions="0"):
    group_id: str = field(STRING)
    member_id: str = field(STRING)


class ClassicProtocol(Stored):
    name: str = field(STRING)
    metadata: bytes = field(BYTES)


class ClassicMemberMetadata(Stored):
    session_timeout_ms: int = field(INT32)
    supported_protocols: list[ClassicProtocol] = field(array(ClassicProtocol))


class ConsumerGroupMemberMetadataValue(Stored, key=5, versions="0", flexible="0+"):
    instance_id: str | None = field(STRING, nullable="0+")
    rack_id: str | None = field(STRING, nullable="0+")
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    subscribed_topic_names: list[str] = field(array(STRING))
    subscribed_topic_regex: str | None = field(STRING, nullable="0+")
    rebalance_timeout_ms: int = field(INT32, default=-1)
    server_assignor: str | None = field(STRING, nullable="0+")
    # null: the member uses the consumer protocol. (Left out, it would be read as one with a session timeout of 0.)
    classic_member_metadata: ClassicMemberMetadata | None = field(ClassicMemberMetadata, nullable="0+", tag=0)


class ConsumerGroupTargetAssignmentMetadataKey(Stored, key=6, versions="0"):
    group_id: str = field(STRING)


class ConsumerGroupTargetAssignmentMetadataValue(Stored, key=6, versions="0", flexible="0+"):
    assignment_epoch: int = field(INT32)
    assignment_timestamp: int = field(INT64, default=0, tag=0)


class ConsumerGroupTargetAssignmentMemberKey(Stored, key=7, versions="0"):
    group_id: str = field(STRING)
    member_id: str = field(STRING)


class TopicPartition(Stored):
    topic_id: bytes = field(UUID)
    partitions: list[int] = field(array(INT32))


class ConsumerGroupTargetAssignmentMemberValue(Stored, key=7, versions="0", flexible="0+"):
    topic_partitions: list[TopicPartition] = field(array(TopicPartition))


class ConsumerGroupCurrentMemberAssignmentKey(Stored, key=8, versions="0"):
    group_id: str = field(STRING)
    member_id: str = field(STRING)


class TopicPartitions(Stored):
    topic_id: bytes = field(UUID)
    partitions: list[int] = field(array(INT32))
    # parallel to partitions: the epoch since which the member has them; empty: unknown
    assignment_epochs: list[int] | None = field(array(INT32), nullable="0+", default=[], tag=0)


class ConsumerGroupCurrentMemberAssignmentValue(Stored, key=8, versions="0", flexible="0+"):
    member_epoch: int = field(INT32)
    previous_member_epoch: int = field(INT32)
    state: int = field(INT8)  # 0 stable, 1 unrevoked partitions, 2 unreleased partitions
    assigned_partitions: list[TopicPartitions] = field(array(TopicPartitions))
    partitions_pending_revocation: list[TopicPartitions] = field(array(TopicPartitions))


class ConsumerGroupRegularExpressionKey(Stored, key=16, versions="0"):
    group_id: str = field(STRING)
    regular_expression: str = field(STRING)


class ConsumerGroupRegularExpressionValue(Stored, key=16, versions="0", flexible="0+"):
    topics: list[str] = field(array(STRING))
    version: int = field(INT64)
    timestamp: int = field(INT64)


KEYS: dict[int, type[Stored]] = {
    0: LegacyOffsetCommitKey,
    1: OffsetCommitKey,
    2: GroupMetadataKey,
    3: ConsumerGroupMetadataKey,
    4: ConsumerGroupPartitionMetadataKey,
    5: ConsumerGroupMemberMetadataKey,
    6: ConsumerGroupTargetAssignmentMetadataKey,
    7: ConsumerGroupTargetAssignmentMemberKey,
    8: ConsumerGroupCurrentMemberAssignmentKey,
    16: ConsumerGroupRegularExpressionKey,
}
VALUES: dict[int, type[Stored]] = {
    0: LegacyOffsetCommitValue,
    1: OffsetCommitValue,
    2: GroupMetadataValue,
    3: ConsumerGroupMetadataValue,
    4: ConsumerGroupPartitionMetadataValue,
    5: ConsumerGroupMemberMetadataValue,
    6: ConsumerGroupTargetAssignmentMetadataValue,
    7: ConsumerGroupTargetAssignmentMemberValue,
    8: ConsumerGroupCurrentMemberAssignmentValue,
    16: ConsumerGroupRegularExpressionValue,
}
