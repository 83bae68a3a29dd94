"""OffsetForLeaderEpoch (key 23), versions 2 to 4, flexible from 4: where a leader epoch ends, for finding where logs
diverge.

Versions: 3 the asking replica names itself.
"""

from barnabas.protocol.codec.schema import INT16, INT32, INT64, STRING, Request, Response, Struct, array, field


class OffsetForLeaderPartition(Struct):
    partition: int = field(INT32)
    current_leader_epoch: int = field(INT32, default=-1)  # -1: not checked
    leader_epoch: int = field(INT32)


class OffsetForLeaderTopic(Struct):
    topic: str = field(STRING)
    partitions: list[OffsetForLeaderPartition] = field(array(OffsetForLeaderPartition))


class OffsetForLeaderEpochRequest(Request, key=23, versions="2-4", flexible="4+"):
    replica_id: int = field(INT32, versions="3+", default=-2, ignorable=True)
    topics: list[OffsetForLeaderTopic] = field(array(OffsetForLeaderTopic))


class EpochEndOffset(Struct):
    error_code: int = field(INT16)
    partition: int = field(INT32)
    leader_epoch: int = field(INT32, default=-1)
    end_offset: int = field(INT64, default=-1)  # the first offset after the epoch; -1: unknown


class OffsetForLeaderTopicResult(Struct):
    topic: str = field(STRING)
    partitions: list[EpochEndOffset] = field(array(EpochEndOffset))


class OffsetForLeaderEpochResponse(Response, key=23, versions="2-4", flexible="4+"):
    throttle_time_ms: int = field(INT32, default=0)
    topics: list[OffsetForLeaderTopicResult] = field(array(OffsetForLeaderTopicResult))
