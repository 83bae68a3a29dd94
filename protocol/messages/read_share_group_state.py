"""ReadShareGroupState (key 84), version 0, flexible: read the state of a share group's partitions; between brokers."""

from barnabas.protocol.codec.schema import (
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    UUID,
    Request,
    Response,
    Struct,
    array,
    field,
)


class PartitionData(Struct):
    partition: int = field(INT32)
    leader_epoch: int = field(INT32)


class ReadStateData(Struct):
    topic_id: bytes = field(UUID)
    partitions: list[PartitionData] = field(array(PartitionData))


class ReadShareGroupStateRequest(Request, key=84, versions="0", flexible="0+"):
    group_id: str = field(STRING)
    topics: list[ReadStateData] = field(array(ReadStateData))


class StateBatch(Struct):
    first_offset: int = field(INT64)
    last_offset: int = field(INT64)
    delivery_state: int = field(INT8)
    delivery_count: int = field(INT16)


class PartitionResult(Struct):
    partition: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+", default=None)
    state_epoch: int = field(INT32)
    start_offset: int = field(INT64)
    state_batches: list[StateBatch] = field(array(StateBatch))


class ReadStateResult(Struct):
    topic_id: bytes = field(UUID)
    partitions: list[PartitionResult] = field(array(PartitionResult))


class ReadShareGroupStateResponse(Response, key=84, versions="0", flexible="0+"):
    results: list[ReadStateResult] = field(array(ReadStateResult))
