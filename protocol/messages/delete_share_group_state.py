"""DeleteShareGroupState (key 86), version 0, flexible: delete the state of a share group's partitions; between
brokers.
"""

from barnabas.protocol.codec.schema import INT16, INT32, STRING, UUID, Request, Response, Struct, array, field


class PartitionData(Struct):
    partition: int = field(INT32)


class DeleteStateData(Struct):
    topic_id: bytes = field(UUID)
    partitions: list[PartitionData] = field(array(PartitionData))


class DeleteShareGroupStateRequest(Request, key=86, versions="0", flexible="0+"):
    group_id: str = field(STRING)
    topics: list[DeleteStateData] = field(array(DeleteStateData))


class PartitionResult(Struct):
    partition: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+", default=None)


class DeleteStateResult(Struct):
    topic_id: bytes = field(UUID)
    partitions: list[PartitionResult] = field(array(PartitionResult))


class DeleteShareGroupStateResponse(Response, key=86, versions="0", flexible="0+"):
    results: list[DeleteStateResult] = field(array(DeleteStateResult))
