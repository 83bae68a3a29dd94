"""The page of a share group: its members, and what is in flight; and that of a streams group with its tasks."""

import re

from barnabas.broker.coordinator.group.decisions.share.model import ShareHeartbeatRequest
from barnabas.broker.http.console.queries.share_partitions import ShownSharePartition
from barnabas.broker.http.console.svg.delivery_strip import STRIP_WIDTH, described, drawn_ranges
from barnabas.broker.insight.inspection.share_partitions import DeliveryRange, SharePartitionSummary
from barnabas.broker.partitions.share.persister import DeliveryState
from tests.broker.insight.why.test_group_types import alone
from tests.support.console.world import Console
from tests.support.inspected_broker import Inspected, now
from tests.support.worlds.share_world import ShareWorld

MARKUP = "<i>m</i>"
ACCEPT, RELEASE, REJECT = 1, 2, 3


async def joined(world: ShareWorld, member: str) -> None:
    """A member of the group with its assignment."""
    for epoch, names in ((0, ("t",)), (2, None)):
        await now(world.services.groups.share.heartbeat(ShareHeartbeatRequest("g", member, epoch, topic_names=names)))
        await world.settle()
        await world.advance(5_000)


async def test_a_share_partition_is_a_strip_of_states() -> None:
    world = ShareWorld()
    console = Console(world)
    await joined(world, MARKUP)
    assert "No member fetches now: nothing is in flight." in await console.text("/group", id="g")
    world.append("t", b"a", b"b", b"c", b"d")
    member = world.member(MARKUP)
    await member.fetch()
    await world.advance(18_000)
    await member.acknowledge((1, 3, [ACCEPT, RELEASE, REJECT]))
    text = await console.text("/group", id="g")
    assert "1 held by members, the first lock ends in 12 s; 1 can be acquired again; 2 finished." in text
    assert "The first unfinished offset is 0, the lag 2." in text
    html = await console.get("/group", id="g")
    assert re.findall(r'class="cell (\w+)" x="([\d.]+)"', html) == [
        ("open", "0.0"),
        ("committed", "250.0"),
        ("plain", "500.0"),
        ("aborted", "750.0"),
    ]
    assert "offset 0, acquired by &lt;i&gt;m&lt;/i&gt; for 12 s more, delivery 1" in html
    assert MARKUP not in html
    assert "g Stable share" in await console.text("/groups")


async def test_the_overview_counts_what_share_groups_hold_and_their_dead_letters() -> None:
    world = ShareWorld(partitions=2)
    console = Console(world)
    assert "in flight" not in await console.text("")
    world.append("t", b"a", b"b", b"c")
    world.append("t", b"d", partition=1)
    world.services.catalogue.create_topic("dlq.t", 1, {"errors.deadletterqueue.group.enable": "true"})
    world.configure("errors.deadletterqueue.topic.name", "dlq.t")
    member = world.member()
    await member.fetch(0, 1)
    text = await console.text("")
    assert "records in flight in share groups 4 dead letters 0" in text
    await member.acknowledge((0, 0, [REJECT]))
    await world.settle()
    text = await console.text("")
    assert "records in flight in share groups 3 dead letter 1" in text
    assert "dead letters lost" not in text
    world.services.catalogue.delete_topics(["dlq.t"])
    await member.acknowledge((1, 2, [REJECT]))
    await world.settle()
    text = await console.text("")
    assert "record in flight in share groups 1 dead letter 1 dead letters lost 2" in text


async def test_the_members_of_a_streams_group_have_the_partitions_of_their_tasks() -> None:
    world = Inspected(topics={"t": 2})
    await alone(world)
    assert "t-0 , t-1" in await Console(world).text("/group", id="app")


def test_a_long_strip_says_that_it_is_cut() -> None:
    ranges = [DeliveryRange(each, each, DeliveryState.ACQUIRED, 1, "m", 1, False) for each in range(10, 14)]
    summary = SharePartitionSummary(10, 20, 0, 10, 0, {"m": 10}, 1, 10, 10, 1, 0)
    cut = ShownSharePartition("t", 0, summary, ranges)
    assert not cut.is_whole
    assert cut._replace(summary=summary._replace(end_offset=14)).is_whole
    assert [each.x for each in drawn_ranges(cut)] == [STRIP_WIDTH * each / 4 for each in range(4)]
    assert drawn_ranges(cut._replace(ranges=[])) == []


def test_a_range_is_described_in_words() -> None:
    available = DeliveryRange(3, 5, DeliveryState.AVAILABLE, 0, None, None, False)
    assert described(available) == "offsets 3 to 5, available, never delivered"
    storing = DeliveryRange(3, 3, DeliveryState.ARCHIVED, 2, "m", 900, True)
    assert described(storing) == "offset 3, archived by m for 900 ms more, delivery 2, not stored yet"
