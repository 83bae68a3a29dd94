"""ElectLeaders (key 43), versions 0 to 2, flexible from 2: elect leaders for partitions.

Election types: 0 the preferred replica, 1 any replica, at the price of data.
"""

from barnabas.protocol.codec.schema import INT8, INT16, INT32, STRING, Request, Response, Struct, array, field


class TopicPartitions(Struct):
    topic: str = field(STRING)
    partitions: list[int] = field(array(INT32))


class ElectLeadersRequest(Request, key=43, versions="0-2", flexible="2+"):
    election_type: int = field(INT8, versions="1+", default=0)
    topic_partitions: list[TopicPartitions] | None = field(array(TopicPartitions), nullable="0+")
    timeout_ms: int = field(INT32, default=60000)


class PartitionResult(Struct):
    partition_id: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")


class ReplicaElectionResult(Struct):
    topic: str = field(STRING)
    partition_result: list[PartitionResult] = field(array(PartitionResult))


class ElectLeadersResponse(Response, key=43, versions="0-2", flexible="2+"):
    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16, versions="1+", default=0)
    replica_election_results: list[ReplicaElectionResult] = field(array(ReplicaElectionResult))
