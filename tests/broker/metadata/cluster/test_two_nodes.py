"""A cluster of two nodes, of which this one leads every other partition: what it does not lead it says so of."""

import itertools
import logging
from typing import Any

import pytest

from barnabas.broker.coordinator.runtime.partition_for import partition_for
from barnabas.broker.metadata.catalogue import Catalogue
from barnabas.broker.metadata.cluster.node_view import Node, NodeView
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from barnabas.protocol.messages.produce import ProduceRequest
from tests.support.requests import BY_NAME, init_producer, produce
from tests.support.worlds.broker import BrokerWorld, code_of, settle

ME, OTHER = 1, Node(2, "a cluster", "other", 9093, "rack 2")
PARTITIONS = 4
GROUPS = 50
CODES = [E.NONE, E.NOT_LEADER_OR_FOLLOWER] * (PARTITIONS // 2)


def leader_of(topic: str, partition: int) -> int:
    return OTHER.node_id if partition % 2 else ME


def two_nodes(node_id: int, catalogue: Catalogue) -> NodeView:
    return NodeView(node_id, catalogue, [OTHER], leader_of)


def named(leader: int) -> str:
    """A group or transactional id that this node coordinates."""
    return next(
        f"id-{number}" for number in itertools.count() if leader_of("", partition_for(f"id-{number}", GROUPS)) == leader
    )


MINE = named(ME)


@pytest.fixture
async def world() -> BrokerWorld:
    return BrokerWorld(cluster=two_nodes, topics={"t": PARTITIONS})


async def ask(world: BrokerWorld, request: Request, version: int | None = None) -> Any:
    peer = world.connect()
    await peer.put(request, version)
    return peer.answer()


def produced(world: BrokerWorld) -> ProduceRequest:
    return produce({number: world.batch(b"v") for number in range(PARTITIONS)})


async def test_partitions_of_another_node_have_no_directory_here(world: BrokerWorld) -> None:
    dirs = [AlterReplicaLogDir(path="/data", topics=[AlterReplicaLogDirTopic(name="t", partitions=[0, 1])])]
    ((topic,),) = [(await ask(world, AlterReplicaLogDirsRequest(dirs=dirs))).results]
    assert [each.error_code for each in topic.partitions] == [E.NONE, E.REPLICA_NOT_AVAILABLE]


# --- partitions ------------------------------------------------------------------------------------------------------


async def test_only_what_this_node_leads_is_written(world: BrokerWorld) -> None:
    await world.close()
    again = BrokerWorld(files=world.files, cluster=two_nodes)
    before = [each.leader_epoch for each in again.services.catalogue.topics["t"].partitions]
    (topic,) = (await ask(again, produced(again), BY_NAME)).responses
    assert [each.error_code for each in topic.partition_responses] == CODES
    assert {number for name, number in again.services.partitions.directory.partitions if name == "t"} == {0, 2}
    after = [each.leader_epoch for each in again.services.catalogue.topics["t"].partitions]
    assert [new - old for new, old in zip(after, before, strict=True)] == [1, 0, 1, 0], "it does not elect the other"


async def test_a_log_is_looked_at_where_this_node_leads(world: BrokerWorld) -> None:
    assert world.services.partitions.get_if_written("t", 0) is None, "never written to"
    assert code_of(lambda: world.services.partitions.get_if_written("t", 1)) is E.NOT_LEADER_OR_FOLLOWER


async def test_retention_passes_by_what_others_lead(world: BrokerWorld, caplog: pytest.LogCaptureFixture) -> None:
    await world.close()
    alone = BrokerWorld(files=world.files)
    await ask(alone, produced(alone), BY_NAME)
    await alone.close()
    with_another = BrokerWorld(files=world.files, cluster=two_nodes)
    assert with_another.services.partitions.directory.partitions >= {("t", number) for number in range(PARTITIONS)}
    await with_another.broker.start()
    with caplog.at_level(logging.ERROR):
        with_another.clock.advance(60_000)
        await settle()
    assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []


async def test_a_start_after_a_kill_loads_what_this_node_coordinates(world: BrokerWorld) -> None:
    await ask(world, init_producer(MINE))
    world.files.crash("everything")
    world.is_closed = True
    again = BrokerWorld(files=world.files, cluster=two_nodes)
    await again.broker.start()
    loaded = [partition.index for partition in again.services.transactions.loaded()]
    assert loaded == list(range(0, GROUPS, 2))


# --- one node --------------------------------------------------------------------------------------------------------


async def test_a_node_that_is_alone_leads_everything() -> None:
    world = BrokerWorld()
    topic = world.services.catalogue.create_topic("t", PARTITIONS)
    cluster = world.services.cluster
    assert cluster.nodes(world.services.node) == (world.services.node,)
    assert list(cluster.led(topic)) == list(range(PARTITIONS))
    assert all(cluster.coordinator_of("__consumer_offsets", number) == ME for number in range(GROUPS))
