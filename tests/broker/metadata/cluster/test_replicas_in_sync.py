"""Replicas that stop: what batches that wait for them are answered, what is told of them, and who is in sync after."""

import asyncio
from typing import Any

import pytest

from barnabas.broker.metadata.image.image import TOPIC_RESOURCE
from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.metadata.cluster.test_moving import leader_to, places, switch
from tests.broker.metadata.cluster.test_three_nodes import ask, create, metadata, produced
from tests.support.requests import BY_NAME, produce
from tests.support.worlds.broker import BrokerWorld, Peer, settle
from tests.support.worlds.configs import replace_configs

SETTINGS = {"min.insync.replicas": "2", "log.flush.interval.messages": "1"}


@pytest.fixture
async def world() -> BrokerWorld:
    world = BrokerWorld(SETTINGS, nodes=3)
    await create(world, "t", assignments=[[1, 2]])
    return world


@pytest.fixture
def syncs(world: BrokerWorld, monkeypatch: pytest.MonkeyPatch) -> list[asyncio.Future[None]]:
    """What waits for the disk, which is done when the test says so."""
    found: list[asyncio.Future[None]] = []

    def synced(*_: object) -> asyncio.Future[None]:
        found.append(asyncio.get_running_loop().create_future())
        return found[-1]

    monkeypatch.setattr(world.broker.flush, "synced", synced)
    return found


async def begun(world: BrokerWorld, acks: int) -> Peer:
    """Whoever has sent a batch to node 1, which is appended and waits for the disk."""
    peer = world.connect_to(1)
    await peer.put(produce(world.batch(b"v"), acks=acks), BY_NAME)
    return peer


async def answered(peer: Peer, syncs: list[asyncio.Future[None]]) -> tuple[E, int]:
    syncs[0].set_result(None)
    await settle()
    ((topic,),) = [peer.answer().responses]
    (result,) = topic.partition_responses
    return E(result.error_code), result.base_offset


@pytest.mark.parametrize(("acks", "code"), [(-1, E.NOT_ENOUGH_REPLICAS_AFTER_APPEND), (1, E.NONE)])
async def test_a_batch_whose_replicas_stop_before_it_is_on_the_disk_is_not_acknowledged_for_all(
    world: BrokerWorld, syncs: list[asyncio.Future[None]], acks: int, code: E
) -> None:
    peer = await begun(world, acks)
    await switch(world, 2, "true", asked=3)
    assert await answered(peer, syncs) == (code, 0)
    assert (await produced(world, 1, 0)).error_code == E.NOT_ENOUGH_REPLICAS, "which is not appended"
    assert world.broker.shared_storage is not None
    assert world.broker.shared_storage.of_node[1].partitions.get("t", 0).log_end_offset == 1


async def test_a_replica_that_is_back_before_the_disk_is_done_has_never_been_missed(
    world: BrokerWorld, syncs: list[asyncio.Future[None]]
) -> None:
    peer = await begun(world, -1)
    await switch(world, 2, "true", asked=3)
    await switch(world, 2, "false", asked=3)
    assert await answered(peer, syncs) == (E.NONE, 0)


@pytest.mark.parametrize(("acks", "code"), [(-1, E.NOT_LEADER_OR_FOLLOWER), (1, E.NONE)])
async def test_a_batch_whose_leader_moves_before_it_is_on_the_disk_is_not_acknowledged_for_all(
    world: BrokerWorld, syncs: list[asyncio.Future[None]], acks: int, code: E
) -> None:
    peer = await begun(world, acks)
    await leader_to(world, "t", 0, 2)
    assert await answered(peer, syncs) == (code, 0)


# --- told ------------------------------------------------------------------------------------------------------------


async def test_replicas_on_stopped_nodes_are_reported_as_each_api_tells_them() -> None:
    world = BrokerWorld(nodes=3)
    await create(world, "t", assignments=[[1, 2, 3], [2, 3, 1], [3, 1, 2]])
    await create(world, "u", assignments=[[2], [1]])
    await switch(world, 2, "true")
    codes = {}
    for version in (0, 1, 5, 13):
        topics = (await ask(world, 1, MetadataRequest(topics=[MetadataRequestTopic(name="t")]), version)).topics
        codes[version] = [(each.error_code, each.replica_nodes) for each in topics[0].partitions]
    assert codes[1] == codes[5] == codes[13] == [(E.NONE, [1, 2, 3]), (E.NONE, [2, 3, 1]), (E.NONE, [3, 1, 2])]
    assert codes[0] == [(E.REPLICA_NOT_AVAILABLE, each) for each in ([1, 3], [3, 1], [3, 1])]
    topics = (await ask(world, 1, MetadataRequest(topics=[MetadataRequestTopic(name="u")]), 0)).topics
    assert [(each.error_code, each.leader_id, each.replica_nodes, each.isr_nodes) for each in topics[0].partitions] == [
        (E.LEADER_NOT_AVAILABLE, -1, [], []),
        (E.NONE, 1, [1], [1]),
    ]
    asked = DescribeTopicPartitionsRequest(topics=[TopicRequest(name="u")], response_partition_limit=2)
    (described,) = (await ask(world, 1, asked)).topics
    assert [
        (each.error_code, each.leader_id, each.replica_nodes, each.isr_nodes, each.offline_replicas)
        for each in described.partitions
    ] == [(E.NONE, -1, [2], [2], [2]), (E.NONE, 1, [1], [1], [])]


async def leaderless(settings: dict[str, str] | None = None, *topics: str) -> tuple[BrokerWorld, Any]:
    """Four nodes, and partitions whose replicas 2, 3 and 1 stopped in this order."""
    world = BrokerWorld(settings, nodes=4)
    for topic in topics or ("u",):
        await create(world, topic, assignments=[[1, 2, 3]])
    for node in (2, 3, 1):
        await switch(world, node, "true", asked=4)
    return world, world.broker.shared_storage.nodes  # type: ignore[union-attr]  # it has four nodes


# --- unclean elections -----------------------------------------------------------------------------------------------


async def test_the_leader_of_an_unclean_election_is_alone_in_the_isr_until_the_others_that_run_join_it() -> None:
    world, nodes = await leaderless()
    for node in (2, 3):
        await switch(world, node, "false", asked=4)
    assert places(await metadata(world, 4, "u")) == [(-1, [1])]
    epoch = world.services.catalogue.current_leader_epoch("u", 0)
    nodes.elect([("u", 0)], preferred=False)
    assert nodes.of("u", 0) == ((1, 2, 3), (2,), 2)
    await settle()
    assert places(await metadata(world, 4, "u")) == [(2, [2, 3])]
    await switch(world, 1, "false", asked=4)
    assert places(await metadata(world, 4, "u")) == [(2, [1, 2, 3])]
    assert (await metadata(world, 4, "u"))[0].leader_epoch == epoch + 1, "who joins the ISR begins no epoch"


@pytest.mark.parametrize("place", ["broker", "topic"])
async def test_a_replica_out_of_sync_leads_when_it_starts_where_that_is_allowed(place: str) -> None:
    allowed = {"unclean.leader.election.enable": "true"}
    world, nodes = await leaderless(allowed if place == "broker" else {}, "u", "strict")
    catalogue = world.services.catalogue
    replace_configs(catalogue, TOPIC_RESOURCE, "strict", {"unclean.leader.election.enable": "false"})
    if place == "topic":
        replace_configs(catalogue, TOPIC_RESOURCE, "u", allowed)
    assert places(await metadata(world, 4, "u")) == [(-1, [1])]
    nodes.have_stopped(lambda stopped: set(stopped) - {3})
    assert nodes.of("u", 0) == ((1, 2, 3), (3,), 3)
    assert places(await metadata(world, 4, "strict")) == [(-1, [1])]
    await switch(world, 2, "false", asked=4)
    assert places(await metadata(world, 4, "u")) == [(3, [2, 3])]


async def test_a_topic_that_is_deleted_before_the_others_join_the_isr_is_left_alone() -> None:
    world, nodes = await leaderless()
    for node in (2, 3):
        await switch(world, node, "false", asked=4)
    nodes.elect([("u", 0)], preferred=False)
    world.services.catalogue.delete_topics(["u"])
    await settle()
    assert "u" not in [key[0] for key, _ in nodes.every()]
