"""A cluster of two nodes, of which this one leads every other partition: what it does not lead it says so of."""

import itertools
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from barnabas.broker.catalogue import Catalogue
from barnabas.broker.cluster.cluster import Cluster, Node
from barnabas.broker.coordinator.runtime.placement import partition_for
from barnabas.broker.inspection.logs import log_of
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from barnabas.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest
from barnabas.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from barnabas.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from barnabas.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from barnabas.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.protocol.messages.list_transactions import ListTransactionsRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from barnabas.protocol.schema import Request
from tests.support.worlds.broker import BrokerWorld, settle

E = ErrorCode
ME, OTHER = 1, Node(2, "a cluster", "other", 9093, "rack 2")
PARTITIONS = 4
GROUPS = 50
BY_NAME = 12  # the last version of Produce and Fetch that names topics
LATEST = -1
CODES = [E.NONE, E.NOT_LEADER_OR_FOLLOWER] * (PARTITIONS // 2)


def leader_of(topic: str, partition: int) -> int:
    return OTHER.node_id if partition % 2 else ME


def two_nodes(node_id: int, catalogue: Catalogue) -> Cluster:
    return Cluster(node_id, catalogue, [OTHER], leader_of)


def named(leader: int) -> str:
    """A group or transactional id that this node coordinates."""
    return next(
        f"id-{number}" for number in itertools.count() if leader_of("", partition_for(f"id-{number}", GROUPS)) == leader
    )


MINE, THEIRS = named(ME), named(OTHER.node_id)


@pytest.fixture
async def world() -> AsyncIterator[BrokerWorld]:
    world = BrokerWorld(cluster=two_nodes)
    world.services.catalogue.create_topic("t", PARTITIONS)
    yield world
    await world.close()


async def ask(world: BrokerWorld, request: Request, version: int | None = None) -> Any:
    peer = world.connect()
    peer.ask(request, version)
    await settle()
    return peer.answer()


def produce(world: BrokerWorld) -> ProduceRequest:
    rows = [PartitionProduceData(index=number, records=world.batch(b"v")) for number in range(PARTITIONS)]
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=rows)])


# --- what is told ----------------------------------------------------------------------------------------------------


async def test_metadata_names_both_nodes_and_the_leader_of_each_partition(world: BrokerWorld) -> None:
    answer = await ask(world, MetadataRequest(topics=None))
    assert [(each.node_id, each.host, each.port, each.rack) for each in answer.brokers] == [
        (ME, "127.0.0.1", 9092, None),
        (2, "other", 9093, "rack 2"),
    ]
    (topic,) = answer.topics
    assert [each.leader_id for each in topic.partitions] == [1, 2, 1, 2]
    assert [each.replica_nodes for each in topic.partitions] == [[1], [2], [1], [2]]
    assert [each.isr_nodes for each in topic.partitions] == [[1], [2], [1], [2]]


async def test_the_cluster_and_its_partitions_are_described_alike(world: BrokerWorld) -> None:
    cluster = await ask(world, DescribeClusterRequest(include_cluster_authorized_operations=False))
    assert [(each.broker_id, each.host) for each in cluster.brokers] == [(ME, "127.0.0.1"), (2, "other")]
    assert cluster.controller_id == ME
    asked = DescribeTopicPartitionsRequest(topics=[], response_partition_limit=100, cursor=None)
    (topic,) = (await ask(world, asked)).topics
    assert [(each.leader_id, each.replica_nodes) for each in topic.partitions] == [(1, [1]), (2, [2])] * 2


async def test_a_log_directory_tells_of_what_is_in_it(world: BrokerWorld) -> None:
    (result,) = (await ask(world, DescribeLogDirsRequest(topics=None))).results
    assert [each.partition_index for each in result.topics[0].partitions] == [0, 2]


async def test_what_another_node_leads_is_in_no_directory_here(world: BrokerWorld) -> None:
    dirs = [AlterReplicaLogDir(path="/data", topics=[AlterReplicaLogDirTopic(name="t", partitions=[0, 1])])]
    ((topic,),) = [(await ask(world, AlterReplicaLogDirsRequest(dirs=dirs))).results]
    assert [each.error_code for each in topic.partitions] == [E.NONE, E.REPLICA_NOT_AVAILABLE]


# --- partitions ------------------------------------------------------------------------------------------------------


async def test_only_what_this_node_leads_is_written(world: BrokerWorld) -> None:
    await world.close()
    again = BrokerWorld(files=world.files, cluster=two_nodes)
    before = [each.leader_epoch for each in again.services.catalogue.topics["t"].partitions]
    (topic,) = (await ask(again, produce(again), BY_NAME)).responses
    assert [each.error_code for each in topic.partition_responses] == CODES
    assert {number for name, number in again.services.partitions.directory.partitions if name == "t"} == {0, 2}
    after = [each.leader_epoch for each in again.services.catalogue.topics["t"].partitions]
    assert [new - old for new, old in zip(after, before, strict=True)] == [1, 0, 1, 0], "it does not elect the other"
    await again.close()


async def test_only_what_this_node_leads_is_read(world: BrokerWorld) -> None:
    await ask(world, produce(world), BY_NAME)
    wanted = [FetchPartition(partition=n, fetch_offset=0, partition_max_bytes=1 << 20) for n in range(PARTITIONS)]
    asked = FetchRequest(max_wait_ms=500, min_bytes=1 << 20, topics=[FetchTopic(topic="t", partitions=wanted)])
    (topic,) = (await ask(world, asked, BY_NAME)).responses
    assert [each.error_code for each in topic.partitions] == CODES
    assert [bool(each.records) for each in topic.partitions] == [True, False, True, False]


async def test_offsets_and_epochs_are_looked_up_where_this_node_leads(world: BrokerWorld) -> None:
    numbers = range(PARTITIONS)
    places = [ListOffsetsPartition(partition_index=number, timestamp=LATEST) for number in numbers]
    topics = [ListOffsetsTopic(name="t", partitions=places)]
    (found,) = (await ask(world, ListOffsetsRequest(replica_id=-1, topics=topics))).topics
    assert [each.error_code for each in found.partitions] == CODES
    epochs = [OffsetForLeaderPartition(partition=number, leader_epoch=0) for number in numbers]
    (ends,) = (
        await ask(world, OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic="t", partitions=epochs)]))
    ).topics
    assert [each.error_code for each in ends.partitions] == CODES


async def test_records_are_deleted_and_producers_told_where_this_node_leads(world: BrokerWorld) -> None:
    numbers = range(PARTITIONS)
    places = [DeleteRecordsPartition(partition_index=number, offset=-1) for number in numbers]
    deleting = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="t", partitions=places)], timeout_ms=1000)
    (deleted,) = (await ask(world, deleting)).topics
    assert [each.error_code for each in deleted.partitions] == CODES
    asked = DescribeProducersRequest(topics=[TopicRequest(name="t", partition_indexes=list(numbers))])
    (told,) = (await ask(world, asked)).topics
    assert [each.error_code for each in told.partitions] == CODES


async def test_a_log_is_looked_at_where_this_node_leads(world: BrokerWorld) -> None:
    assert log_of(world.services, "t", 0) is None, "never written to"
    with pytest.raises(KafkaError) as refused:
        log_of(world.services, "t", 1)
    assert refused.value.code is E.NOT_LEADER_OR_FOLLOWER


async def test_retention_passes_by_what_another_node_leads(
    world: BrokerWorld, caplog: pytest.LogCaptureFixture
) -> None:
    await world.close()
    alone = BrokerWorld(files=world.files)
    await ask(alone, produce(alone), BY_NAME)
    await alone.close()
    with_another = BrokerWorld(files=world.files, cluster=two_nodes)
    assert with_another.services.partitions.directory.partitions >= {("t", number) for number in range(PARTITIONS)}
    await with_another.broker.start()
    with caplog.at_level(logging.ERROR):
        with_another.clock.advance(60_000)
        await settle()
    assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []
    await with_another.close()


# --- keys ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key_type", [0, 1])
async def test_each_key_is_coordinated_by_the_leader_of_its_partition(world: BrokerWorld, key_type: int) -> None:
    asked = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[MINE, THEIRS])
    found = (await ask(world, asked)).coordinators
    assert [(each.error_code, each.node_id, each.host, each.port) for each in found] == [
        (E.NONE, ME, "127.0.0.1", 9092),
        (E.NONE, OTHER.node_id, "other", 9093),
    ]


def joining(group_id: str) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group_id,
        member_id="",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"m")],
    )


def committing(group_id: str) -> OffsetCommitRequest:
    offset = OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata="")
    topics = [OffsetCommitRequestTopic(name="t", partitions=[offset])]
    return OffsetCommitRequest(group_id=group_id, member_id="", topics=topics)


async def test_a_group_is_served_by_its_coordinator_alone(world: BrokerWorld) -> None:
    assert (await ask(world, joining(MINE))).error_code == E.MEMBER_ID_REQUIRED
    assert (await ask(world, joining(THEIRS))).error_code == E.NOT_COORDINATOR
    beat = HeartbeatRequest(group_id=THEIRS, generation_id=1, member_id="m")
    assert (await ask(world, beat)).error_code == E.NOT_COORDINATOR
    codes = [(await ask(world, committing(each), 9)).topics[0].partitions[0].error_code for each in (MINE, THEIRS)]
    assert codes == [E.NONE, E.NOT_COORDINATOR]
    listed = await ask(world, ListGroupsRequest(states_filter=[], types_filter=[]))
    assert [each.group_id for each in listed.groups] == [MINE]


@pytest.mark.parametrize("version", [3, 5])
async def test_offsets_in_a_transaction_are_taken_by_the_coordinator_of_the_group_alone(
    world: BrokerWorld, version: int
) -> None:
    offset = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata="")
    topics = [TxnOffsetCommitRequestTopic(name="t", partitions=[offset])]
    codes = []
    for group_id in (MINE, THEIRS):
        request = TxnOffsetCommitRequest(
            transactional_id=MINE, group_id=group_id, producer_id=7, producer_epoch=0, topics=topics
        )
        codes.append((await ask(world, request, version)).topics[0].partitions[0].error_code)
    assert codes == [E.INVALID_PRODUCER_ID_MAPPING, E.NOT_COORDINATOR]


async def test_a_transactional_id_is_served_by_its_coordinator_alone(world: BrokerWorld) -> None:
    codes = [
        (await ask(world, InitProducerIdRequest(transactional_id=each, transaction_timeout_ms=60_000))).error_code
        for each in (MINE, THEIRS)
    ]
    assert codes == [E.NONE, E.NOT_COORDINATOR]
    listed = await ask(world, ListTransactionsRequest(state_filters=[], producer_id_filters=[]))
    assert [each.transactional_id for each in listed.transaction_states] == [MINE]


async def test_a_start_after_a_kill_loads_what_this_node_coordinates(world: BrokerWorld) -> None:
    await ask(world, InitProducerIdRequest(transactional_id=MINE, transaction_timeout_ms=60_000))
    world.files.crash("everything")
    world.is_closed = True
    again = BrokerWorld(files=world.files, cluster=two_nodes)
    await again.broker.start()
    loaded = [partition.index for partition in again.services.transactions.loaded()]
    assert loaded == list(range(0, GROUPS, 2))
    await again.close()


# --- one node --------------------------------------------------------------------------------------------------------


async def test_a_node_that_is_alone_leads_everything() -> None:
    world = BrokerWorld()
    topic = world.services.catalogue.create_topic("t", PARTITIONS)
    cluster = world.services.cluster
    assert cluster.nodes(world.services.node) == (world.services.node,)
    assert list(cluster.led(topic)) == list(range(PARTITIONS))
    assert all(cluster.coordinator_of("__consumer_offsets", number) == ME for number in range(GROUPS))
    await world.close()
