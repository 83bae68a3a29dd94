"""Which replica a consumer reads from, and nodes that consumers read from without their leading (KIP-392)."""

from typing import Any

import pytest

from barnabas.broker.config.racks import RACK_AWARE_SELECTOR
from barnabas.broker.metadata.cluster.placement import Placement
from barnabas.broker.metadata.cluster.read_replicas import may_read, read_replica
from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from tests.broker.metadata.cluster.test_moving import reassign, switch
from tests.broker.metadata.cluster.test_three_nodes import ask, create, produced
from tests.support.requests import fetch, list_offsets
from tests.support.worlds.broker import BrokerWorld, settle

RACKS = {1: "a", 2: "b", 3: "b"}
SETTINGS = {"broker.rack": "a,b,b", "replica.selector.class": RACK_AWARE_SELECTOR}
BEFORE_READ_REPLICAS, READ_REPLICAS, IN_SESSIONS = 10, 11, 12


# --- decided ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rack", "isr", "chosen"),
    [
        ("", (1, 2, 3), 1),
        ("c", (1, 2, 3), 1),
        ("a", (1, 2, 3), 1),
        ("b", (1, 2, 3), 3),
        ("b", (1, 2), 2),
        ("b", (1,), 1),
    ],
)
def test_a_consumer_reads_in_its_rack_where_a_replica_is_in_sync(rack: str, isr: tuple[int, ...], chosen: int) -> None:
    assert read_replica(Placement((1, 2, 3), isr, 1), rack, RACKS) == chosen


def test_the_leader_is_read_from_before_a_follower_in_the_same_rack() -> None:
    assert read_replica(Placement((1, 2, 3), (1, 2, 3), 2), "b", RACKS) == 2


@pytest.mark.parametrize(("leader", "node", "may"), [(1, 1, True), (1, 2, True), (1, 3, False), (-1, 1, False)])
def test_consumers_read_from_replicas_in_sync_while_somebody_leads(leader: int, node: int, may: bool) -> None:
    assert may_read(Placement((1, 2, 3), (1, 2), leader), node) is may


# --- served ----------------------------------------------------------------------------------------------------------


@pytest.fixture
async def world() -> BrokerWorld:
    world = BrokerWorld(SETTINGS, nodes=3)
    await create(world, "t", assignments=[[1, 2]])
    await produced(world, 1, 0)
    return world


async def fetched(world: BrokerWorld, node: int, request: FetchRequest, version: int = IN_SESSIONS) -> Any:
    ((topic,),) = [(await ask(world, node, request, version)).responses]
    (result,) = topic.partitions
    return result


@pytest.mark.parametrize("node", [1, 2, 3])
async def test_every_node_tells_the_racks_of_all(world: BrokerWorld, node: int) -> None:
    brokers = (await ask(world, node, MetadataRequest(topics=[]))).brokers
    assert {each.node_id: each.rack for each in brokers} == RACKS
    cluster = await ask(world, node, DescribeClusterRequest(include_cluster_authorized_operations=False))
    assert {each.broker_id: each.rack for each in cluster.brokers} == RACKS


@pytest.mark.parametrize("version", [READ_REPLICAS, IN_SESSIONS])
async def test_the_leader_names_the_replica_in_the_consumers_rack_and_no_records(
    world: BrokerWorld, version: int
) -> None:
    result = await fetched(world, 1, fetch(rack_id="b", isolation_level=1), version)
    assert (result.error_code, result.preferred_read_replica, result.records) == (E.NONE, 2, b"")
    assert (result.high_watermark, result.last_stable_offset, result.log_start_offset) == (1, 1, 0)
    assert result.aborted_transactions is None


@pytest.mark.parametrize("rack", ["", "a", "somewhere else"])
async def test_the_leader_serves_who_has_no_replica_nearer(world: BrokerWorld, rack: str) -> None:
    result = await fetched(world, 1, fetch(rack_id=rack))
    assert (result.error_code, result.preferred_read_replica) == (E.NONE, -1)
    assert result.records


async def test_the_replica_is_named_at_once_where_there_is_nothing_to_read(world: BrokerWorld) -> None:
    result = await fetched(world, 1, fetch(offset=1, rack_id="b", wait_ms=60_000))
    assert result.preferred_read_replica == 2


async def test_the_replica_is_named_in_a_session_that_knows_everything_else(world: BrokerWorld) -> None:
    first = await ask(world, 1, fetch(offset=1, session_epoch=0), IN_SESSIONS)
    asked = FetchRequest(
        max_wait_ms=0, min_bytes=1, rack_id="b", topics=[], session_id=first.session_id, session_epoch=1
    )
    result = await fetched(world, 1, asked)
    assert (result.preferred_read_replica, result.high_watermark) == (2, 1)


async def test_an_offset_that_there_is_not_is_the_leaders_to_refuse(world: BrokerWorld) -> None:
    result = await fetched(world, 1, fetch(offset=2, rack_id="b"))
    assert (result.error_code, result.preferred_read_replica) == (E.OFFSET_OUT_OF_RANGE, -1)


async def test_a_replica_in_sync_serves_consumers_and_sends_them_nowhere(world: BrokerWorld) -> None:
    for rack in ("b", "a", ""):
        result = await fetched(world, 2, fetch(rack_id=rack))
        assert (result.error_code, result.preferred_read_replica, result.high_watermark) == (E.NONE, -1, 1)
        assert result.records


@pytest.mark.parametrize(
    ("node", "asked", "version"),
    [
        pytest.param(2, {}, BEFORE_READ_REPLICAS, id="a version before read replicas"),
        pytest.param(3, {"rack_id": "b"}, IN_SESSIONS, id="a node that is no replica"),
        pytest.param(2, {"replica_id": 1}, IN_SESSIONS, id="no consumer"),
    ],
)
async def test_only_the_leader_serves(world: BrokerWorld, node: int, asked: dict[str, Any], version: int) -> None:
    assert (await fetched(world, node, fetch(**asked), version)).error_code == E.NOT_LEADER_OR_FOLLOWER


async def test_offsets_are_looked_up_by_the_leader_alone(world: BrokerWorld) -> None:
    codes = [(await ask(world, node, list_offsets())).topics[0].partitions[0].error_code for node in (1, 2)]
    assert codes == [E.NONE, E.NOT_LEADER_OR_FOLLOWER]


async def test_a_fetch_that_waits_at_a_replica_gets_the_leaders_records(world: BrokerWorld) -> None:
    peer = world.connect_to(2)
    await peer.put(fetch(offset=1, wait_ms=60_000), IN_SESSIONS)
    assert peer.answers() == []
    await produced(world, 1, 0)
    await settle()
    assert peer.answer().responses[0].partitions[0].high_watermark == 2


async def test_a_fetch_that_waits_at_a_former_replica_is_answered(world: BrokerWorld) -> None:
    peer = world.connect_to(2)
    await peer.put(fetch(offset=1, wait_ms=60_000), IN_SESSIONS)
    assert await reassign(world, {("t", 0): [1, 3]}) == [E.NONE]
    await settle()
    assert peer.answer().responses[0].partitions[0].error_code == E.NOT_LEADER_OR_FOLLOWER


async def test_a_replica_that_is_stopped_is_named_to_nobody(world: BrokerWorld) -> None:
    await switch(world, 2, "true")
    result = await fetched(world, 1, fetch(rack_id="b"))
    assert (result.preferred_read_replica, bool(result.records)) == (-1, True)
    await switch(world, 2, "false")
    assert (await fetched(world, 1, fetch(rack_id="b"))).preferred_read_replica == 2


async def test_without_the_selector_the_leader_serves_every_rack() -> None:
    world = BrokerWorld({"broker.rack": "a,b,b"}, nodes=3)
    await create(world, "t", assignments=[[1, 2]])
    await produced(world, 1, 0)
    result = await fetched(world, 1, fetch(rack_id="b"))
    assert (result.preferred_read_replica, bool(result.records)) == (-1, True)
