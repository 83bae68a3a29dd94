"""OffsetDelete (key 47), version 0, never flexible: delete committed offsets of a group."""

from barnabas.protocol.codec.schema import INT16, INT32, STRING, Request, Response, Struct, array, field


class OffsetDeleteRequestPartition(Struct):
    partition_index: int = field(INT32)


class OffsetDeleteRequestTopic(Struct):
    name: str = field(STRING)
    partitions: list[OffsetDeleteRequestPartition] = field(array(OffsetDeleteRequestPartition))


class OffsetDeleteRequest(Request, key=47, versions="0"):
    group_id: str = field(STRING)
    topics: list[OffsetDeleteRequestTopic] = field(array(OffsetDeleteRequestTopic))


class OffsetDeleteResponsePartition(Struct):
    partition_index: int = field(INT32)
    error_code: int = field(INT16)


class OffsetDeleteResponseTopic(Struct):
    name: str = field(STRING)
    partitions: list[OffsetDeleteResponsePartition] = field(array(OffsetDeleteResponsePartition))


class OffsetDeleteResponse(Response, key=47, versions="0"):
    error_code: int = field(INT16)
    throttle_time_ms: int = field(INT32, default=0)
    topics: list[OffsetDeleteResponseTopic] = field(array(OffsetDeleteResponseTopic))
