"""Three nodes in one process, over one storage: what each of them says of itself, of the others, and of their data."""

import itertools
from typing import Any

import pytest

from barnabas.broker.coordinator.runtime.partition_for import partition_for
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest
from barnabas.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from barnabas.protocol.messages.list_transactions import ListTransactionsRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from tests.support.requests import (
    BY_NAME,
    commit,
    create_topic,
    epoch_ends,
    fetch,
    init_producer,
    join_group,
    list_offsets,
    offset_fetch,
    produce,
    txn_commit,
)
from tests.support.worlds.broker import BrokerWorld

NODES = 1, 2, 3
GROUPS = 50


@pytest.fixture
async def world() -> BrokerWorld:
    world = BrokerWorld(nodes=3)
    await create(world, "t", assignments=[[1, 2, 3], [2, 3, 1], [3, 1, 2]])
    return world


async def ask(world: BrokerWorld, node: int, request: Request, version: int | None = None) -> Any:
    peer = world.connect_to(node)
    await peer.put(request, version)
    return peer.answer()


async def test_metadata_of_all_topics_goes_by_those_that_are_there_by_then() -> None:
    turns = itertools.count()
    world = BrokerWorld(nodes=3, stopwatch=lambda: next(turns) / 100)  # each slice is a single topic
    await create(world, "a", partitions=1)
    await create(world, "b", partitions=3)
    peer = world.connect_to(1)
    peer.ask(MetadataRequest(topics=None), BY_NAME)
    world.services.catalogue.delete_topics(["b"])
    world.services.catalogue.create_topic("b", 1)
    await peer.until_answered()
    topics = {topic.name: len(topic.partitions) for topic in peer.answer().topics}
    assert topics == {"a": 1, "b": 1}


async def create(
    world: BrokerWorld, name: str, partitions: int = -1, factor: int = -1, assignments: list[list[int]] | None = None
) -> Any:
    (result,) = (await ask(world, 1, create_topic(name, partitions, factor, assignments or []))).topics
    return result


async def metadata(world: BrokerWorld, node: int = 1, name: str = "t") -> list[Any]:
    (topic,) = [each for each in (await ask(world, node, MetadataRequest(topics=None))).topics if each.name == name]
    return list(topic.partitions)


async def produced(world: BrokerWorld, node: int, partition: int, acks: int = -1) -> Any:
    ((topic,),) = [(await ask(world, node, produce({partition: world.batch(b"v")}, acks=acks), BY_NAME)).responses]
    (result,) = topic.partition_responses
    return result


async def fetched(world: BrokerWorld, node: int, partition: int, version: int = BY_NAME, **more: Any) -> Any:
    ((result,),) = [topic.partitions for topic in (await ask(world, node, fetch(partition, **more), version)).responses]
    return result


def kept_at(node: int) -> str:
    """A group or transactional id whose partition has this number modulo three."""
    return next(f"id-{n}" for n in itertools.count() if partition_for(f"id-{n}", GROUPS) % 3 == node)


async def coordinator_of(world: BrokerWorld, key: str, kind: int, asked: int = 1) -> Any:
    (found,) = (await ask(world, asked, FindCoordinatorRequest(key_type=kind, coordinator_keys=[key]))).coordinators
    return found


# --- what is told ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("node", NODES)
async def test_every_node_tells_the_same_addresses_leaders_and_replicas(world: BrokerWorld, node: int) -> None:
    answer = await ask(world, node, MetadataRequest(topics=None))
    assert [(each.node_id, each.port) for each in answer.brokers] == [(1, 9092), (2, 9093), (3, 9094)]
    assert answer.controller_id == 1
    (topic,) = answer.topics
    assert [each.leader_id for each in topic.partitions] == [1, 2, 3]
    assert [each.replica_nodes for each in topic.partitions] == [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
    assert [each.isr_nodes for each in topic.partitions] == [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
    cluster = await ask(world, node, DescribeClusterRequest(include_cluster_authorized_operations=False))
    assert [each.broker_id for each in cluster.brokers] == [1, 2, 3]


async def test_a_client_that_means_another_node_than_it_reached_is_notified(world: BrokerWorld) -> None:
    (cluster_id,) = {(await ask(world, 1, MetadataRequest(topics=None))).cluster_id}
    asked = ApiVersionsRequest(client_software_name="c", client_software_version="1", cluster_id=cluster_id, node_id=2)
    assert [(await ask(world, node, asked, 5)).error_code for node in NODES] == [
        E.REBOOTSTRAP_REQUIRED,
        E.NONE,
        E.REBOOTSTRAP_REQUIRED,
    ]


async def test_a_topic_may_have_as_many_replicas_as_there_are_nodes(world: BrokerWorld) -> None:
    assert (await create(world, "u", 3, 3)).replication_factor == 3
    assert sorted(each.leader_id for each in await metadata(world, name="u")) == [1, 2, 3]
    refused = await create(world, "v", 3, 4)
    assert refused.error_code == E.INVALID_REPLICATION_FACTOR
    assert "only 3 broker(s) are registered" in refused.error_message


@pytest.mark.parametrize(
    ("assignments", "says"),
    [
        ([[4]], "includes broker 4, but no such broker is registered"),
        ([[1, 2, 2]], "includes the broker 2 more than once"),
        ([[1, 2], [3]], "a partition with 1 replica(s), but this is not consistent"),
    ],
)
async def test_a_bad_assignment_is_refused(world: BrokerWorld, assignments: list[list[int]], says: str) -> None:
    refused = await create(world, "u", assignments=assignments)
    assert refused.error_code == E.INVALID_REPLICA_ASSIGNMENT
    assert says in refused.error_message


async def test_partitions_that_are_added_have_as_many_replicas_as_the_others(world: BrokerWorld) -> None:
    grown = CreatePartitionsTopic(name="t", count=5, assignments=None)
    (result,) = (
        await ask(world, 1, CreatePartitionsRequest(topics=[grown], timeout_ms=1000, validate_only=False))
    ).results
    assert result.error_code == E.NONE
    assert [len(each.replica_nodes) for each in await metadata(world)] == [3] * 5


# --- partitions ------------------------------------------------------------------------------------------------------


async def test_only_the_leader_takes_records_and_the_others_say_who_it_is(world: BrokerWorld) -> None:
    for partition, leader in enumerate(NODES):
        for node in NODES:
            answer = await ask(world, node, produce({partition: world.batch(b"v")}), BY_NAME)
            ((result,),) = [topic.partition_responses for topic in answer.responses]
            if node == leader:
                assert (result.error_code, result.base_offset) == (E.NONE, 0)
                assert answer.node_endpoints == []
                continue
            assert result.error_code == E.NOT_LEADER_OR_FOLLOWER
            assert (result.current_leader.leader_id, result.current_leader.leader_epoch) == (leader, 0)
            assert [(each.node_id, each.port) for each in answer.node_endpoints] == [(leader, 9091 + leader)]


@pytest.mark.parametrize(("version", "readable"), [(10, [2]), (12, [1, 2, 3])])
async def test_records_of_the_leader_are_read_there_and_by_newer_versions_at_every_replica(
    world: BrokerWorld, version: int, readable: list[int]
) -> None:
    await produced(world, 2, 1)
    for node in NODES:
        result = await fetched(world, node, 1, version)
        assert result.error_code == (E.NONE if node in readable else E.NOT_LEADER_OR_FOLLOWER)
        assert bool(result.records) is (node in readable)


async def test_a_reader_receives_the_leader_by_versions_that_can(world: BrokerWorld) -> None:
    topic_id = world.services.catalogue.topics["t"].topic_id
    world.broker.shared_storage.nodes.reassign({("t", 1): [2, 1]})  # type: ignore[union-attr]  # it has three nodes
    answer = await ask(world, 3, fetch(1, topic="", topic_id=topic_id), 16)
    ((result,),) = [topic.partitions for topic in answer.responses]
    assert (result.current_leader.leader_id, result.current_leader.leader_epoch) == (2, 1)
    assert [(each.node_id, each.host, each.port) for each in answer.node_endpoints] == [(2, "127.0.0.1", 9093)]


async def test_offsets_epochs_and_producers_are_looked_up_and_records_deleted_at_the_leader(world: BrokerWorld) -> None:
    deleting = DeleteRecordsRequest(
        topics=[
            DeleteRecordsTopic(
                name="t", partitions=[DeleteRecordsPartition(partition_index=n, offset=-1) for n in range(3)]
            )
        ],
        timeout_ms=1000,
    )
    producers = DescribeProducersRequest(topics=[TopicRequest(name="t", partition_indexes=[0, 1, 2])])
    for node in NODES:
        expected = [E.NONE if leader == node else E.NOT_LEADER_OR_FOLLOWER for leader in NODES]
        for asked in (list_offsets(0, 1, 2), epoch_ends(0, 1, 2), deleting, producers):
            assert [each.error_code for each in (await ask(world, node, asked)).topics[0].partitions] == expected


# --- coordinators ----------------------------------------------------------------------------------------------------


async def test_coordinators_are_spread_over_the_nodes_and_every_node_names_them(world: BrokerWorld) -> None:
    for kind in (0, 1):
        found = [await coordinator_of(world, kept_at(number), kind) for number in range(3)]
        assert sorted(each.node_id for each in found) == [1, 2, 3]
        assert all(each.port == 9091 + each.node_id for each in found)
        assert [(await coordinator_of(world, kept_at(0), kind, asked=node)).node_id for node in NODES] == (
            [found[0].node_id] * 3
        )


async def test_a_group_is_only_served_by_its_coordinator(world: BrokerWorld) -> None:
    mine = (await coordinator_of(world, kept_at(0), 0)).node_id
    await coordinator_of(world, kept_at(0), 1)
    beat = HeartbeatRequest(group_id=kept_at(0), generation_id=1, member_id="m")
    for node in NODES:
        codes = [(await ask(world, node, asked)).error_code for asked in (beat, join_group(kept_at(0)))]
        for version in (3, 5):
            answer = await ask(world, node, txn_commit(kept_at(0), (7, 0), kept_at(0), 1), version)
            codes.append(answer.topics[0].partitions[0].error_code)
        unknown = [E.UNKNOWN_MEMBER_ID, E.MEMBER_ID_REQUIRED, *[E.INVALID_PRODUCER_ID_MAPPING] * 2]
        assert codes == (unknown if node == mine else [E.NOT_COORDINATOR] * 4)


async def test_offsets_are_committed_at_the_coordinator_and_fetched_there(world: BrokerWorld) -> None:
    group = kept_at(0)
    mine = (await coordinator_of(world, group, 0)).node_id
    for node in NODES:
        assert await committed(world, node, group) == (E.NONE if node == mine else E.NOT_COORDINATOR)
        code, offset = await fetched_offset(world, node, group)
        assert (code, offset) == ((E.NONE, 7) if node == mine else (E.NOT_COORDINATOR, None))
        listed = (await ask(world, node, ListGroupsRequest(states_filter=[], types_filter=[]))).groups
        assert [each.group_id for each in listed] == [group] * (node == mine)


async def test_a_transactional_id_is_only_served_by_its_coordinator(world: BrokerWorld) -> None:
    mine = (await coordinator_of(world, kept_at(1), 1)).node_id
    for node in NODES:
        answer = await ask(world, node, init_producer(kept_at(1)))
        assert answer.error_code == (E.NONE if node == mine else E.NOT_COORDINATOR)
        listed = await ask(world, node, ListTransactionsRequest(state_filters=[], producer_id_filters=[]))
        assert [each.transactional_id for each in listed.transaction_states] == [kept_at(1)] * (node == mine)


# --- the directory ---------------------------------------------------------------------------------------------------


async def test_nodes_that_are_started_again_lead_what_they_led(world: BrokerWorld) -> None:
    await create(world, "u", 5, 2)
    before = [(each.leader_id, each.replica_nodes) for each in await metadata(world, name="u")]
    await world.close()
    again = BrokerWorld(files=world.files, nodes=3)
    assert [(each.leader_id, each.replica_nodes) for each in await metadata(again, name="u")] == before


async def test_one_node_sees_one_replica_and_all_records(world: BrokerWorld) -> None:
    for partition, leader in enumerate(NODES):
        await produced(world, leader, partition)
    await world.close()
    alone = BrokerWorld(files=world.files)
    assert [(each.leader_id, each.replica_nodes) for each in await metadata(alone)] == [(1, [1])] * 3
    for partition in range(3):
        assert (await fetched(alone, 1, partition)).records


async def test_partitions_of_a_node_that_is_not_there_any_more_go_to_others(world: BrokerWorld) -> None:
    await world.close()
    two = BrokerWorld(files=world.files, nodes=2)
    assert [each.replica_nodes for each in await metadata(two)] == [[1, 2], [2, 1], [1, 2]]


# --- helpers ---------------------------------------------------------------------------------------------------------


async def committed(world: BrokerWorld, node: int, group: str, offset: int = 7) -> int:
    ((result,),) = [topic.partitions for topic in (await ask(world, node, commit(group, offset), 9)).topics]
    return int(result.error_code)


async def fetched_offset(world: BrokerWorld, node: int, group: str) -> tuple[int, int | None]:
    (found,) = (await ask(world, node, offset_fetch(group), 9)).groups
    offsets = [each.committed_offset for topic in found.topics for each in topic.partitions]
    return found.error_code, offsets[0] if offsets else None
