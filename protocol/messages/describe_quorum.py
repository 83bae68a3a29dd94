"""DescribeQuorum (key 55), versions 0 to 2, flexible: leader, voters and observers of the metadata quorum.

Versions: 1 timestamps of the replicas; 2 directory ids and the voters' addresses.
"""

from barnabas.protocol.codec.schema import (
    INT16,
    INT32,
    INT64,
    STRING,
    UINT16,
    UUID,
    Request,
    Response,
    Struct,
    array,
    field,
)
from barnabas.protocol.primitives import ZERO_UUID


class DescribeQuorumRequestPartitionData(Struct):
    partition_index: int = field(INT32)


class DescribeQuorumRequestTopicData(Struct):
    topic_name: str = field(STRING)
    partitions: list[DescribeQuorumRequestPartitionData] = field(array(DescribeQuorumRequestPartitionData))


class DescribeQuorumRequest(Request, key=55, versions="0-2", flexible="0+"):
    topics: list[DescribeQuorumRequestTopicData] = field(array(DescribeQuorumRequestTopicData))


class ReplicaState(Struct):
    replica_id: int = field(INT32)
    replica_directory_id: bytes = field(UUID, versions="2+", default=ZERO_UUID)
    log_end_offset: int = field(INT64)
    last_fetch_timestamp: int = field(INT64, versions="1+", default=-1, ignorable=True)
    last_caught_up_timestamp: int = field(INT64, versions="1+", default=-1, ignorable=True)


class DescribeQuorumResponsePartitionData(Struct):
    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, versions="2+", nullable="2+", default="", ignorable=True)
    leader_id: int = field(INT32)
    leader_epoch: int = field(INT32)
    high_watermark: int = field(INT64)
    current_voters: list[ReplicaState] = field(array(ReplicaState))
    observers: list[ReplicaState] = field(array(ReplicaState))


class DescribeQuorumResponseTopicData(Struct):
    topic_name: str = field(STRING)
    partitions: list[DescribeQuorumResponsePartitionData] = field(array(DescribeQuorumResponsePartitionData))


class Listener(Struct):
    name: str = field(STRING)
    host: str = field(STRING)
    port: int = field(UINT16)


class Node(Struct):
    node_id: int = field(INT32)
    listeners: list[Listener] = field(array(Listener))


class DescribeQuorumResponse(Response, key=55, versions="0-2", flexible="0+"):
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, versions="2+", nullable="2+", default="", ignorable=True)
    topics: list[DescribeQuorumResponseTopicData] = field(array(DescribeQuorumResponseTopicData))
    nodes: list[Node] = field(array(Node), versions="2+", default=[])
