"""Fetch (key 1), versions 4 to 18, flexible from 12: read batches from partitions, waiting for them if need be.

The answer waits until `min_bytes` are there or `max_wait_ms` is over. Sessions (KIP-227, version 7) let a client name
only what changed: session 0 with epoch -1 asks for none, epoch 0 opens one, higher epochs continue it.

Versions: 4 isolation level and aborted transactions; 5 log start offset; 7 sessions; 9 leader epochs (fencing);
11 rack and preferred replica; 12 divergence found by epochs; 13 topics by id; 15 the replica state moves into a tag;
16 addresses of new leaders; 17 the directory of the replica; 18 the high watermark a follower knows.
"""

from barnabas.protocol.codec.schema import (
    INT8,
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


class ReplicaState(Struct):
    replica_id: int = field(INT32, default=-1)
    replica_epoch: int = field(INT64, default=-1)


class FetchPartition(Struct):
    partition: int = field(INT32)
    current_leader_epoch: int = field(INT32, versions="9+", default=-1, ignorable=True)  # -1: not checked
    fetch_offset: int = field(INT64)
    last_fetched_epoch: int = field(INT32, versions="12+", default=-1)  # -1: divergence is not checked
    log_start_offset: int = field(INT64, versions="5+", default=-1, ignorable=True)
    partition_max_bytes: int = field(INT32)  # a whole batch is sent even where it is larger
    replica_directory_id: bytes = field(UUID, versions="17+", default=ZERO_UUID, tag=0, ignorable=True)
    high_watermark: int = field(INT64, versions="18+", default=0x7FFF_FFFF_FFFF_FFFF, tag=1, ignorable=True)


class FetchTopic(Struct):
    topic: str = field(STRING, versions="0-12", default="", ignorable=True)
    topic_id: bytes = field(UUID, versions="13+", default=ZERO_UUID, ignorable=True)
    partitions: list[FetchPartition] = field(array(FetchPartition))


class ForgottenTopic(Struct):
    topic: str = field(STRING, versions="7-12", default="", ignorable=True)
    topic_id: bytes = field(UUID, versions="13+", default=ZERO_UUID, ignorable=True)
    partitions: list[int] = field(array(INT32))


class FetchRequest(Request, key=1, versions="4-18", flexible="12+"):
    cluster_id: str | None = field(STRING, versions="12+", nullable="12+", default=None, tag=0, ignorable=True)
    replica_id: int = field(INT32, versions="0-14", default=-1)  # -1: a consumer
    replica_state: ReplicaState | None = field(ReplicaState, versions="15+", default=None, tag=1)
    max_wait_ms: int = field(INT32)
    min_bytes: int = field(INT32)
    max_bytes: int = field(INT32, default=0x7FFF_FFFF)
    isolation_level: int = field(INT8, default=0)  # 0 read_uncommitted, 1 read_committed
    session_id: int = field(INT32, versions="7+", default=0, ignorable=True)  # 0: no session yet
    session_epoch: int = field(INT32, versions="7+", default=-1, ignorable=True)  # -1: no session wanted, 0: open one
    topics: list[FetchTopic] = field(array(FetchTopic))
    # what to take out of the session
    forgotten_topics_data: list[ForgottenTopic] = field(array(ForgottenTopic), versions="7+", default=[])
    rack_id: str = field(STRING, versions="11+", default="", ignorable=True)


class EpochEndOffset(Struct):
    epoch: int = field(INT32, default=-1)
    end_offset: int = field(INT64, default=-1)


class LeaderIdAndEpoch(Struct):
    leader_id: int = field(INT32, default=-1)
    leader_epoch: int = field(INT32, default=-1)


class SnapshotId(Struct):
    end_offset: int = field(INT64, default=-1)
    epoch: int = field(INT32, default=-1)


class AbortedTransaction(Struct):
    producer_id: int = field(INT64)
    first_offset: int = field(INT64)


class PartitionData(Struct):
    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    high_watermark: int = field(INT64)
    last_stable_offset: int = field(INT64, default=-1)  # below it every transaction is decided
    log_start_offset: int = field(INT64, versions="5+", default=-1, ignorable=True)
    diverging_epoch: EpochEndOffset | None = field(EpochEndOffset, versions="12+", default=None, tag=0)
    current_leader: LeaderIdAndEpoch | None = field(LeaderIdAndEpoch, versions="12+", default=None, tag=1)
    snapshot_id: SnapshotId | None = field(SnapshotId, versions="12+", default=None, tag=2)
    # null for read_uncommitted
    aborted_transactions: list[AbortedTransaction] | None = field(array(AbortedTransaction), nullable="4+")
    preferred_read_replica: int = field(INT32, versions="11+", default=-1)
    records: Buffer | None = field(RECORDS, nullable="0+")  # batches, from the one that holds the offset on


class FetchableTopicResponse(Struct):
    topic: str = field(STRING, versions="0-12", default="", ignorable=True)
    topic_id: bytes = field(UUID, versions="13+", default=ZERO_UUID, ignorable=True)
    partitions: list[PartitionData] = field(array(PartitionData))


class NodeEndpoint(Struct):
    node_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)
    rack: str | None = field(STRING, nullable="16+", default=None)


class FetchResponse(Response, key=1, versions="4-18", flexible="12+"):
    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16, versions="7+", default=0, ignorable=True)
    session_id: int = field(INT32, versions="7+", default=0)
    responses: list[FetchableTopicResponse] = field(array(FetchableTopicResponse))
    node_endpoints: list[NodeEndpoint] = field(array(NodeEndpoint), versions="16+", default=[], tag=0)
