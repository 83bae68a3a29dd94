"""Preferred replicas lead again after a while: `auto.leader.rebalance.enable`, with several nodes of one process."""

from typing import Any

import pytest

from barnabas.broker.metadata.cluster.leader_balance import ELECTED_IN_A_TURN
from barnabas.broker.metadata.cluster.topology import ClusterTopology
from barnabas.protocol.errors import ErrorCode as E
from barnabas.storage.errors import StorageError
from tests.broker.metadata.cluster.test_moving import leader_to, places, reassign, switch
from tests.broker.metadata.cluster.test_three_nodes import create, metadata, produced
from tests.support.worlds.broker import BrokerWorld

INTERVAL_MS = 300_000
SPREAD = [(1, [1, 2, 3]), (2, [2, 3, 1]), (3, [3, 1, 2])]
WITHOUT_TWO = [(1, [1, 2, 3]), (3, [2, 3, 1]), (3, [3, 1, 2])]


async def opened(settings: dict[str, str] | None = None, **how: Any) -> BrokerWorld:
    world = BrokerWorld(settings, nodes=3, **how)
    await create(world, "t", assignments=[[1, 2, 3], [2, 3, 1], [3, 1, 2]])
    return world


def nodes_of(world: BrokerWorld) -> ClusterTopology:
    assert world.broker.shared_storage is not None
    return world.broker.shared_storage.nodes


async def later(world: BrokerWorld, delay_ms: int) -> None:
    await world.advance(delay_ms)


@pytest.fixture
async def world() -> BrokerWorld:
    return await opened()


async def test_a_node_that_came_back_leads_again_at_the_next_check(world: BrokerWorld) -> None:
    await produced(world, 2, 1)
    epoch = (await metadata(world))[1].leader_epoch
    await switch(world, 2, "true")
    await switch(world, 2, "false")
    await later(world, INTERVAL_MS - 1)
    assert places(await metadata(world)) == WITHOUT_TWO
    await later(world, 1)
    assert places(await metadata(world)) == SPREAD
    assert (await metadata(world))[1].leader_epoch == epoch + 2, "one for each leader"


async def test_checks_follow_one_another_and_a_stopped_node_is_waited_for() -> None:
    world = await opened({"leader.imbalance.check.interval.seconds": "10"})
    await switch(world, 2, "true")
    await later(world, 10_000)
    assert [each.leader_id for each in await metadata(world)] == [1, 3, 3]
    await switch(world, 2, "false")
    await later(world, 10_000)
    assert places(await metadata(world)) == SPREAD


async def test_after_a_reassignment_the_first_replica_leads_and_a_leader_that_moved_stays(world: BrokerWorld) -> None:
    assert await reassign(world, {("t", 0): [3, 1, 2]}) == [E.NONE]
    await leader_to(world, "t", 1, 3)
    assert [each.leader_id for each in await metadata(world)] == [1, 3, 3]
    await later(world, INTERVAL_MS)
    assert places(await metadata(world)) == [(3, [3, 1, 2]), (3, [3, 2, 1]), (3, [3, 1, 2])]


async def test_leaders_stay_where_they_are_not_to_be_balanced() -> None:
    world = await opened({"auto.leader.rebalance.enable": "false"})
    await switch(world, 2, "true")
    await switch(world, 2, "false")
    await later(world, 2 * INTERVAL_MS)
    assert places(await metadata(world)) == WITHOUT_TWO


async def test_a_clock_that_is_moved_brings_the_check_about() -> None:
    world = await opened(movable=True)
    await switch(world, 2, "true")
    await switch(world, 2, "false")
    control = world.broker.time_control.get()
    control.freeze()
    await control.advance(INTERVAL_MS)
    assert [nodes_of(world).of("t", number).leader for number in range(3)] == [1, 2, 3]


async def test_many_partitions_are_balanced_in_turns_and_deleted_ones_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(1_000_000))
    world = await opened(stopwatch=lambda: float(next(ticks)))  # each look at the stopwatch ends a slice
    many = ELECTED_IN_A_TURN + 5
    await create(world, "many", assignments=[[2, 3, 1]] * many)
    await create(world, "one", assignments=[[2, 3, 1]])
    await switch(world, 2, "true")
    await switch(world, 2, "false")
    changes: list[int] = []
    change = ClusterTopology.change

    def counted(nodes: ClusterTopology, wanted: Any) -> None:
        changes.append(len(wanted))
        change(nodes, wanted)
        if len(changes) == 1:
            world.services.catalogue.delete_topics(["many"])

    monkeypatch.setattr(ClusterTopology, "change", counted)
    await later(world, INTERVAL_MS)
    assert changes == [ELECTED_IN_A_TURN, 1]
    assert nodes_of(world).of("one", 0).leader == 2


async def test_a_failed_pass_is_reported_and_another_made(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await switch(world, 2, "true")
    await switch(world, 2, "false")

    def refused(nodes: ClusterTopology, wanted: Any) -> None:
        raise StorageError("/data", "the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(ClusterTopology, "change", refused)
        await later(world, INTERVAL_MS)
    assert "preferred leaders not elected" in caplog.text
    await later(world, INTERVAL_MS)
    assert places(await metadata(world)) == SPREAD


async def test_a_broker_that_has_stopped_moves_no_leader_any_more(world: BrokerWorld) -> None:
    await switch(world, 2, "true")
    await switch(world, 2, "false")
    await world.close()
    await later(world, INTERVAL_MS)
    assert nodes_of(world).of("t", 1).leader == 3
