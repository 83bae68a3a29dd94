"""OffsetCommit (key 8), versions 2 to 10, flexible from 8: store the offsets a group has consumed.

Generation -1 with an empty member id commits for a group that manages its own assignment. For groups of the consumer
protocol the same field carries the member epoch.

Versions: 2-4 a retention of its own; 6 leader epochs; 7 static members; 9 consumer groups; 10 topics by id.
"""

from barnabas.protocol.codec.schema import INT16, INT32, INT64, STRING, UUID, Request, Response, Struct, array, field
from barnabas.protocol.primitives import ZERO_UUID


class OffsetCommitRequestPartition(Struct):
    partition_index: int = field(INT32)
    committed_offset: int = field(INT64)
    # of the last record consumed; -1: unknown
    committed_leader_epoch: int = field(INT32, versions="6+", default=-1, ignorable=True)
    committed_metadata: str | None = field(STRING, nullable="0+")  # the client's own note


class OffsetCommitRequestTopic(Struct):
    name: str = field(STRING, versions="0-9", default="", ignorable=True)
    topic_id: bytes = field(UUID, versions="10+", default=ZERO_UUID, ignorable=True)
    partitions: list[OffsetCommitRequestPartition] = field(array(OffsetCommitRequestPartition))


class OffsetCommitRequest(Request, key=8, versions="2-10", flexible="8+"):
    group_id: str = field(STRING)
    generation_id_or_member_epoch: int = field(INT32, default=-1)  # -1: not a member of the group
    member_id: str = field(STRING)
    group_instance_id: str | None = field(STRING, versions="7+", nullable="7+", default=None)
    retention_time_ms: int = field(INT64, versions="2-4", default=-1, ignorable=True)  # -1: as the broker is configured
    topics: list[OffsetCommitRequestTopic] = field(array(OffsetCommitRequestTopic))


class OffsetCommitResponsePartition(Struct):
    partition_index: int = field(INT32)
    error_code: int = field(INT16)


class OffsetCommitResponseTopic(Struct):
    name: str = field(STRING, versions="0-9", default="", ignorable=True)
    topic_id: bytes = field(UUID, versions="10+", default=ZERO_UUID, ignorable=True)
    partitions: list[OffsetCommitResponsePartition] = field(array(OffsetCommitResponsePartition))


class OffsetCommitResponse(Response, key=8, versions="2-10", flexible="8+"):
    throttle_time_ms: int = field(INT32, versions="3+", default=0, ignorable=True)
    topics: list[OffsetCommitResponseTopic] = field(array(OffsetCommitResponseTopic))
