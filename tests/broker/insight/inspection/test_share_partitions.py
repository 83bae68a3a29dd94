"""Share partitions as the read model has them: what is in flight, with whom, until when."""

from barnabas.broker.insight.inspection.share_partitions import (
    DeliveryRange,
    OpenShareSession,
    SharePartitionSummary,
    UsedSharePartition,
    share_sessions,
    used_share_partitions,
)
from barnabas.broker.partitions.share.persister import DeliveryState
from barnabas.broker.partitions.share.share_sessions import SessionPartition
from tests.support.worlds.broker import settle
from tests.support.worlds.share_world import ShareWorld

ACCEPT, RELEASE = 1, 2
AVAILABLE, ACQUIRED, ACKNOWLEDGED = DeliveryState.AVAILABLE, DeliveryState.ACQUIRED, DeliveryState.ACKNOWLEDGED


def only(world: ShareWorld) -> UsedSharePartition:
    (used,) = used_share_partitions(world.services, "g")
    return used


async def test_a_broker_without_share_groups_has_none_and_builds_none() -> None:
    world = ShareWorld()
    assert list(used_share_partitions(world.services)) == []
    assert list(share_sessions(world.services)) == []
    assert world.services.deferred_share_partitions.built is None


async def test_records_in_flight_have_their_holder_and_the_time_left() -> None:
    world = ShareWorld()
    world.append("t", b"a", b"b", b"c", b"d")
    member = world.member()
    await member.fetch()
    await world.advance(10_000)
    assert only(world).ranges(10) == [DeliveryRange(0, 3, ACQUIRED, 1, "m", 20_000, False)]
    await member.acknowledge((1, 2, [ACCEPT, RELEASE]))
    assert only(world).ranges(2) == [
        DeliveryRange(0, 0, ACQUIRED, 1, "m", 20_000, False),
        DeliveryRange(1, 1, ACKNOWLEDGED, 1, None, None, False),
    ]
    assert only(world).range_of(2) == DeliveryRange(2, 2, AVAILABLE, 1, None, None, False)
    assert only(world).range_of(9) is None


async def test_the_summary_counts_offsets_by_state_and_by_member() -> None:
    world = ShareWorld()
    for _ in range(2):
        world.append("t", b"a", b"b", b"c")
    first, second = world.member("first"), world.member("second")
    await first.fetch(max_records=3)
    await second.fetch()
    world.append("t", b"not fetched")
    await first.acknowledge((1, 2, [ACCEPT, RELEASE]))
    used = only(world)
    assert (used.group_id, used.topic, used.partition) == ("g", "t", 0)
    assert used.summary() == SharePartitionSummary(0, 6, 1, 4, 1, {"first": 1, "second": 3}, 30_000, 6, 6, 2, 0)


async def test_a_change_that_is_not_stored_yet_is_marked() -> None:
    world = ShareWorld()
    world.append("t", b"a")
    member = world.member()
    await member.fetch()
    world.persister.held = []
    member.peer.ask(member.request(0, acks=((0, 0, [ACCEPT]),)))
    await settle()
    assert [(each.state, each.is_being_stored) for each in only(world).ranges(1)] == [(ACKNOWLEDGED, True)]
    world.persister.let_go()
    await settle()
    assert only(world).summary() == SharePartitionSummary(1, 1, 0, 0, 0, {}, None, 0, 0, 0, 0)


async def test_groups_have_their_own_share_partitions_and_a_deleted_topic_has_none() -> None:
    world = ShareWorld(partitions=2)
    await world.member("m").fetch(0, 1)
    assert list(used_share_partitions(world.services, "another")) == []
    assert [each.partition for each in used_share_partitions(world.services)] == [0, 1]
    assert list(share_sessions(world.services)) == [OpenShareSession("g", "m", 2, 1)]
    world.services.catalogue.delete_topics(["t"])
    assert list(used_share_partitions(world.services)) == []


async def test_nothing_is_known_while_the_state_is_loaded() -> None:
    world = ShareWorld()
    world.services.share_partitions.get("g", SessionPartition(world.topic_id, 0))
    used = only(world)
    assert (used.summary(), used.ranges(1), used.range_of(0)) == (None, [], None)
