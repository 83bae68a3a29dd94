"""Requests that many tests send: with one topic, and the usual values of clients for the rest."""

from collections.abc import Mapping, Sequence
from typing import Any

from barnabas.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from barnabas.protocol.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from barnabas.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from barnabas.protocol.messages.end_txn import EndTxnRequest
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from barnabas.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from barnabas.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from barnabas.storage.log.offsets import LATEST

BY_NAME = 12  # the last version of Produce and Fetch that names topics


def produce(
    records: bytes | bytearray | memoryview | Mapping[int, bytes | bytearray],
    topic: str = "t",
    *,
    topic_id: bytes = bytes(16),
    acks: int = -1,
    transactional_id: str | None = None,
    timeout_ms: int = 1000,
) -> ProduceRequest:
    """Of records for partition 0, or by partition."""
    found = records if isinstance(records, Mapping) else {0: records}
    rows = [PartitionProduceData(index=index, records=each) for index, each in found.items()]
    data = [TopicProduceData(name=topic, topic_id=topic_id, partition_data=rows)]
    return ProduceRequest(transactional_id=transactional_id, acks=acks, timeout_ms=timeout_ms, topic_data=data)


def fetch(
    *partitions: int,
    topic: str = "t",
    topic_id: bytes = bytes(16),
    offset: int = 0,
    epoch: int = -1,
    max_bytes: int = 1 << 20,
    wait_ms: int = 0,
    **more: Any,
) -> FetchRequest:
    """Of partitions from the same offset on, of partition 0 unless others are named. epoch: the leader's."""
    rows = [
        FetchPartition(partition=each, fetch_offset=offset, partition_max_bytes=max_bytes, current_leader_epoch=epoch)
        for each in partitions or (0,)
    ]
    topics = [FetchTopic(topic=topic, topic_id=topic_id, partitions=rows)]
    return FetchRequest(**{"max_wait_ms": wait_ms, "min_bytes": 1, "topics": topics, **more})


def list_offsets(*partitions: int, topic: str = "t", timestamp: int = LATEST, epoch: int = -1) -> ListOffsetsRequest:
    """epoch: the leader's."""
    rows = [
        ListOffsetsPartition(partition_index=each, current_leader_epoch=epoch, timestamp=timestamp)
        for each in partitions or (0,)
    ]
    topics = [ListOffsetsTopic(name=topic, partitions=rows)]
    return ListOffsetsRequest(replica_id=-1, isolation_level=0, topics=topics)


def metadata(*topics: str | bytes) -> MetadataRequest:
    """Of all topics unless there are some, by name or by id; it creates none."""
    rows = [
        MetadataRequestTopic(name=each) if isinstance(each, str) else MetadataRequestTopic(topic_id=each, name=None)
        for each in topics
    ]
    return MetadataRequest(topics=rows or None, allow_auto_topic_creation=False)


def epoch_ends(*partitions: int, epoch: int = 0, current: int = -1) -> OffsetForLeaderEpochRequest:
    """OffsetForLeaderEpoch. current: the leader's."""
    rows = [
        OffsetForLeaderPartition(partition=each, current_leader_epoch=current, leader_epoch=epoch)
        for each in partitions or (0,)
    ]
    return OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic="t", partitions=rows)])


def delete_records(topic: str, offset: int, *partitions: int) -> DeleteRecordsRequest:
    """Of partitions before the same offset, of partition 0 unless others are named."""
    rows = [DeleteRecordsPartition(partition_index=each, offset=offset) for each in partitions or (0,)]
    return DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=rows)], timeout_ms=1000)


def create_topic(
    name: str, partitions: int = -1, factor: int = -1, assignments: Sequence[list[int]] = ()
) -> CreateTopicsRequest:
    assigned = [CreatableReplicaAssignment(partition_index=n, broker_ids=ids) for n, ids in enumerate(assignments)]
    topic = CreatableTopic(
        name=name, num_partitions=partitions, replication_factor=factor, assignments=assigned, configs=[]
    )
    return CreateTopicsRequest(topics=[topic], timeout_ms=1000, validate_only=False)


def alter_config(
    resource_type: int, resource: str, name: str, value: str | None, operation: int = 0
) -> IncrementalAlterConfigsRequest:
    setting = AlterableConfig(name=name, config_operation=operation, value=value)
    changed = AlterConfigsResource(resource_type=resource_type, resource_name=resource, configs=[setting])
    return IncrementalAlterConfigsRequest(resources=[changed], validate_only=False)


# Groups


def join_group(group: str = "g", member_id: str = "", metadata: bytes = b"", **more: Any) -> JoinGroupRequest:
    defaults = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 60_000, "protocol_type": "consumer"}
    protocols = [JoinGroupRequestProtocol(name="range", metadata=metadata)]
    return JoinGroupRequest(**{"group_id": group, "member_id": member_id, "protocols": protocols, **defaults, **more})


def sync_group(
    group: str, generation: int, member_id: str, assignments: Mapping[str, bytes], **more: Any
) -> SyncGroupRequest:
    rows = [SyncGroupRequestAssignment(member_id=each, assignment=data) for each, data in assignments.items()]
    return SyncGroupRequest(group_id=group, generation_id=generation, member_id=member_id, assignments=rows, **more)


def commit(group: str, offset: int, topic: str = "t", *partitions: int) -> OffsetCommitRequest:
    """OffsetCommit without a member, of partition 0 unless others are named."""
    rows = [
        OffsetCommitRequestPartition(partition_index=each, committed_offset=offset, committed_metadata="")
        for each in partitions or (0,)
    ]
    topics = [OffsetCommitRequestTopic(name=topic, partitions=rows)]
    return OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=-1, member_id="", topics=topics)


def offset_fetch(group: str, *topics: tuple[str, list[int]], **more: Any) -> OffsetFetchRequest:
    """OffsetFetch, from version 8 on, of all topics unless some are named."""
    named = [OffsetFetchRequestTopics(name=name, partition_indexes=each) for name, each in topics]
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=named or None)], **more)


# Transactions: `producer` is (id, epoch)


def init_producer(transactional_id: str | None = "tx", timeout_ms: int = 60_000) -> InitProducerIdRequest:
    return InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=timeout_ms)


def add_partitions(
    transactional_id: str, producer: tuple[int, int], *topics: tuple[str, list[int]]
) -> AddPartitionsToTxnRequest:
    """AddPartitionsToTxn, up to version 3."""
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=producer[0],
        v3_and_below_producer_epoch=producer[1],
        v3_and_below_topics=[AddPartitionsToTxnTopic(name=name, partitions=each) for name, each in topics],
    )


def txn_commit(
    transactional_id: str, producer: tuple[int, int], group: str, offset: int, topic: str = "t", partition: int = 0
) -> TxnOffsetCommitRequest:
    """TxnOffsetCommit without a member."""
    row = TxnOffsetCommitRequestPartition(partition_index=partition, committed_offset=offset, committed_metadata="")
    topics = [TxnOffsetCommitRequestTopic(name=topic, partitions=[row])]
    return TxnOffsetCommitRequest(
        transactional_id=transactional_id,
        group_id=group,
        producer_id=producer[0],
        producer_epoch=producer[1],
        topics=topics,
    )


def end_txn(transactional_id: str, producer: tuple[int, int], committed: bool = True) -> EndTxnRequest:
    return EndTxnRequest(
        transactional_id=transactional_id, producer_id=producer[0], producer_epoch=producer[1], committed=committed
    )
