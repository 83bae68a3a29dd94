"""What is told of several nodes beside their partitions: who is stopped, what each has, who keeps the metadata log."""

import pytest

from barnabas.broker.metadata.image.image import BROKER_RESOURCE
from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from barnabas.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
)
from tests.broker.metadata.cluster.test_moving import switch
from tests.broker.metadata.cluster.test_three_nodes import ask, create, produced
from tests.support.requests import alter_config
from tests.support.worlds.broker import BrokerWorld
from tests.support.worlds.configs import replace_configs

NODES = 1, 2, 3


@pytest.fixture
async def world() -> BrokerWorld:
    world = BrokerWorld({"broker.rack": "a,b,c"}, nodes=3)
    await create(world, "t", assignments=[[1, 2], [2, 3], [3, 2]])
    return world


@pytest.mark.parametrize("stopped", [1, 3])
async def test_a_stopped_node_is_fenced_to_who_requests_such_nodes(world: BrokerWorld, stopped: int) -> None:
    await switch(world, stopped, "true")
    asked = DescribeClusterRequest(include_cluster_authorized_operations=False, include_fenced_brokers=True)
    found = [(each.broker_id, each.port, each.rack, each.is_fenced) for each in (await ask(world, 2, asked)).brokers]
    assert found == [(1, 9092, "a", stopped == 1), (2, 9093, "b", False), (3, 9094, "c", stopped == 3)]
    asked.include_fenced_brokers = False
    assert stopped not in [each.broker_id for each in (await ask(world, 2, asked)).brokers]


async def test_each_node_describes_the_replicas_it_has(world: BrokerWorld) -> None:
    await produced(world, 1, 0)
    found = {}
    for node in NODES:
        (result,) = (await ask(world, node, DescribeLogDirsRequest(topics=None))).results
        (topic,) = result.topics
        found[node] = {each.partition_index: each.partition_size > 0 for each in topic.partitions}
        assert all(each.offset_lag == 0 for each in topic.partitions)
    assert found == {1: {0: True}, 2: {0: True, 1: False, 2: False}, 3: {1: False, 2: False}}


async def test_each_node_describes_its_own_id_rack_and_listeners_and_what_all_share() -> None:
    static = {
        "node.id": "1",
        "broker.rack": "a,,c",
        "listeners": "PLAINTEXT://:9092, INSIDE://:19092,CONTROLLER://:29092,ANY://127.0.0.1:0",
        "advertised.listeners": "PLAINTEXT://broker:9092",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT,ANY:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "num.partitions": "7",
    }
    world = BrokerWorld(static, nodes=3)
    found = {node: await described(world, node) for node in NODES}
    assert [found[node]["node.id"] for node in NODES] == [found[node]["broker.id"] for node in NODES] == ["1", "2", "3"]
    assert [found[node]["broker.rack"] for node in NODES] == ["a", None, "c"]
    assert found[1]["listeners"] == "PLAINTEXT://:9092,INSIDE://:19092,CONTROLLER://:29092,ANY://127.0.0.1:0"
    assert found[3]["listeners"] == "PLAINTEXT://:9094,INSIDE://:19094,CONTROLLER://:29092,ANY://127.0.0.1:0"
    assert found[3]["advertised.listeners"] == "PLAINTEXT://broker:9094"
    replace_configs(world.services.catalogue, BROKER_RESOURCE, "", {"message.max.bytes": "1234"})
    changed = await described(world, 2)
    assert (changed["num.partitions"], changed["message.max.bytes"]) == ("7", "1234")


THROTTLE, SHARED = "leader.replication.throttled.rate", "message.max.bytes"


async def altered(world: BrokerWorld, asked: int, node: int, key: str, value: str) -> tuple[int, str | None]:
    (result,) = (await ask(world, asked, alter_config(BROKER_RESOURCE, str(node), key, value))).responses
    return result.error_code, result.error_message


async def test_each_node_keeps_settings_of_its_own_that_have_no_effect_here(world: BrokerWorld) -> None:
    for node in NODES:
        assert await altered(world, node, node, THROTTLE, str(1000 * node)) == (E.NONE, None)
    await world.close()
    again = BrokerWorld(files=world.files, nodes=3)
    assert [(await described(again, node))[THROTTLE] for node in NODES] == ["1000", "2000", "3000"]


async def test_shared_settings_are_set_for_the_first_node_or_for_all(world: BrokerWorld) -> None:
    assert await altered(world, 2, 2, SHARED, "1234") == (
        E.INVALID_REQUEST,
        "The nodes share [message.max.bytes]: set them for all brokers.",
    )
    assert await altered(world, 1, 1, SHARED, "1234") == (E.NONE, None)
    assert [(await described(world, node))[SHARED] for node in NODES] == ["1234"] * 3


async def test_a_node_alters_no_other_node(world: BrokerWorld) -> None:
    words = "Unexpected broker id, expected 2, but received 3"
    assert await altered(world, 2, 3, THROTTLE, "1") == (E.INVALID_REQUEST, words)
    assert await altered(world, 2, 1, THROTTLE, "1") == (E.INVALID_REQUEST, words.replace("3", "1"))


async def described(world: BrokerWorld, node: int) -> dict[str, str | None]:
    resource = DescribeConfigsResource(resource_type=BROKER_RESOURCE, resource_name=str(node), configuration_keys=None)
    (result,) = (await ask(world, node, DescribeConfigsRequest(resources=[resource]))).results
    return {each.name: each.value for each in result.configs}


@pytest.mark.parametrize(("stopped", "observers"), [(None, [2, 3]), (1, [2, 3]), (3, [2])])
async def test_the_first_node_keeps_the_metadata_log_and_the_others_that_run_observe_it(
    world: BrokerWorld, stopped: int | None, observers: list[int]
) -> None:
    if stopped is not None:
        await switch(world, stopped, "true")
    partitions = [DescribeQuorumRequestPartitionData(partition_index=0)]
    topics = [DescribeQuorumRequestTopicData(topic_name="__cluster_metadata", partitions=partitions)]
    answer = await ask(world, 2, DescribeQuorumRequest(topics=topics))
    (quorum,) = answer.topics[0].partitions
    assert (quorum.leader_id, [each.replica_id for each in quorum.current_voters]) == (1, [1])
    assert [each.replica_id for each in quorum.observers] == observers
    assert {each.log_end_offset for each in quorum.observers} == {quorum.high_watermark}
    assert [each.node_id for each in answer.nodes] == [1]
