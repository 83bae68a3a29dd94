"""TxnOffsetCommit (key 28), versions 0 to 6, flexible from 3: commit offsets of a group within a transaction.

Goes to the coordinator of the group, not to that of the transaction. The offsets count once the commit marker is there.

Versions: 2 leader epochs; 3 member id and generation, so that zombies are fenced (KIP-447); 5 the offsets partition is
added to the transaction by itself (KIP-890); 6 topics by id, and member epochs (KIP-1319).
"""

from barnabas.protocol.codec.schema import INT16, INT32, INT64, STRING, UUID, Request, Response, Struct, array, field
from barnabas.protocol.primitives import ZERO_UUID


class TxnOffsetCommitRequestPartition(Struct):
    partition_index: int = field(INT32)
    committed_offset: int = field(INT64)
    committed_leader_epoch: int = field(INT32, versions="2+", default=-1, ignorable=True)
    committed_metadata: str | None = field(STRING, nullable="0+")


class TxnOffsetCommitRequestTopic(Struct):
    name: str = field(STRING, versions="0-5", default="", ignorable=True)
    topic_id: bytes = field(UUID, versions="6+", default=ZERO_UUID, ignorable=True)
    partitions: list[TxnOffsetCommitRequestPartition] = field(array(TxnOffsetCommitRequestPartition))


class TxnOffsetCommitRequest(Request, key=28, versions="0-6", flexible="3+"):
    transactional_id: str = field(STRING)
    group_id: str = field(STRING)
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    # -1: not checked
    generation_id_or_member_epoch: int = field(INT32, versions="3+", default=-1)
    member_id: str = field(STRING, versions="3+", default="")
    group_instance_id: str | None = field(STRING, versions="3+", nullable="3+", default=None)
    topics: list[TxnOffsetCommitRequestTopic] = field(array(TxnOffsetCommitRequestTopic))


class TxnOffsetCommitResponsePartition(Struct):
    partition_index: int = field(INT32)
    error_code: int = field(INT16)


class TxnOffsetCommitResponseTopic(Struct):
    name: str = field(STRING, versions="0-5", default="", ignorable=True)
    topic_id: bytes = field(UUID, versions="6+", default=ZERO_UUID, ignorable=True)
    partitions: list[TxnOffsetCommitResponsePartition] = field(array(TxnOffsetCommitResponsePartition))


class TxnOffsetCommitResponse(Response, key=28, versions="0-6", flexible="3+"):
    throttle_time_ms: int = field(INT32, default=0)
    topics: list[TxnOffsetCommitResponseTopic] = field(array(TxnOffsetCommitResponseTopic))
