"""Produce (key 0), versions 3 to 13, flexible from 9: append batches to partitions.

`records` is one record batch of format v2 for each partition, taken as a view into the frame and never decoded here.
With acks 0 there is no response. Versions 0 to 2 are gone, yet brokers advertise 0: older clients read from the range
which compressions they may use.

Versions: 3 transactions; 5 log start offset; 8 errors per record; 10 the new leader, where the leader has moved;
12 the transaction may add the partition by itself (KIP-890); 13 topics by id.
"""

from barnabas.protocol.codec.schema import (
    INT16,
    INT32,
    INT64,
    RECORDS,
    STRING,
    UUID,
    Request,
    Response,
    Struct,
    array,
    field,
)
from barnabas.protocol.primitives import ZERO_UUID, Buffer


class PartitionProduceData(Struct):
    index: int = field(INT32)
    records: Buffer | None = field(RECORDS, nullable="0+")  # one batch of format v2, unparsed


class TopicProduceData(Struct):
    name: str = field(STRING, versions="0-12", default="", ignorable=True)
    topic_id: bytes = field(UUID, versions="13+", default=ZERO_UUID, ignorable=True)
    partition_data: list[PartitionProduceData] = field(array(PartitionProduceData))


class ProduceRequest(Request, key=0, versions="3-13", flexible="9+"):
    transactional_id: str | None = field(STRING, nullable="3+", default=None)  # null: not in a transaction
    acks: int = field(INT16)  # 0: no answer at all, 1: written by the leader, -1: by all replicas in sync
    timeout_ms: int = field(INT32)
    topic_data: list[TopicProduceData] = field(array(TopicProduceData))


class BatchIndexAndErrorMessage(Struct):
    batch_index: int = field(INT32)  # of the refused record within its batch
    batch_index_error_message: str | None = field(STRING, nullable="8+", default=None)


class LeaderIdAndEpoch(Struct):
    leader_id: int = field(INT32, default=-1)
    leader_epoch: int = field(INT32, default=-1)


class PartitionProduceResponse(Struct):
    index: int = field(INT32)
    error_code: int = field(INT16)
    base_offset: int = field(INT64)  # where the batch begins in the log; -1 on error
    log_append_time_ms: int = field(INT64, default=-1)  # -1 unless the topic stamps records itself
    log_start_offset: int = field(INT64, versions="5+", default=-1, ignorable=True)
    record_errors: list[BatchIndexAndErrorMessage] = field(
        array(BatchIndexAndErrorMessage), versions="8+", default=[], ignorable=True
    )
    error_message: str | None = field(STRING, versions="8+", nullable="8+", default=None, ignorable=True)
    # with NOT_LEADER_OR_FOLLOWER: who it is
    current_leader: LeaderIdAndEpoch | None = field(LeaderIdAndEpoch, versions="10+", default=None, tag=0)


class TopicProduceResponse(Struct):
    name: str = field(STRING, versions="0-12", default="", ignorable=True)
    topic_id: bytes = field(UUID, versions="13+", default=ZERO_UUID, ignorable=True)
    partition_responses: list[PartitionProduceResponse] = field(array(PartitionProduceResponse))


class NodeEndpoint(Struct):
    node_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)
    rack: str | None = field(STRING, nullable="10+", default=None)


class ProduceResponse(Response, key=0, versions="3-13", flexible="9+"):
    responses: list[TopicProduceResponse] = field(array(TopicProduceResponse))
    throttle_time_ms: int = field(INT32, default=0)
    node_endpoints: list[NodeEndpoint] = field(array(NodeEndpoint), versions="10+", default=[], tag=0)
