"""Groups, topics, health, clients, settings and the clock, over a whole broker in memory."""

import asyncio
from typing import Any

import pytest

from barnabas.broker.coordinator.group.decisions.classic.model import JoinRequest, SyncRequest
from barnabas.protocol.codec.compile import codec
from barnabas.protocol.log_records.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
)
from tests.support.console.world import Console
from tests.support.inspected_broker import Inspected, now
from tests.support.worlds.broker import BrokerWorld

MARKUP = "<i>x</i>"
PAGES = (
    *("", "/transactions", "/topics", "/groups", "/why", "/clients", "/security", "/health", "/settings", "/faults"),
    "/clock",
)


@pytest.fixture
async def world() -> Inspected:
    return Inspected()


@pytest.mark.parametrize("path", PAGES)
async def test_every_page_of_an_empty_broker_can_be_read(console: Console, path: str) -> None:
    html = await console.get(path)
    assert html.count("<h1>") == 1
    assert 'aria-current="page"' in html


async def test_the_first_page_leads_to_queues(console: Console) -> None:
    assert '--share NAME hello</code>) share its records, and <a href="/console/groups">' in await console.get("")


@pytest.mark.parametrize("path", PAGES)
async def test_every_page_of_several_nodes_can_be_read(path: str) -> None:
    world = BrokerWorld({"offsets.topic.num.partitions": "3"}, nodes=3, topics={"t": 3})
    console = Console(world)
    assert "3 nodes" in await console.text(path)
    assert "node" in await console.text("/topics/t/2")


async def test_a_group_is_behind_as_kafka_counts_it_and_as_its_readers_see_it(
    console: Console, world: Inspected
) -> None:
    world.services.catalogue.create_topic("t", 1)
    world.append("t", b"a", b"b", b"c")
    await world.begin("open", ("t", 0))
    world.append("t", b"d")
    await world.commit(MARKUP, "t", 1)
    assert "&lt;i&gt;x&lt;/i&gt; Empty classic 0 0 1 4 2" in await console.text("/groups")
    text = await console.text("/group", id=MARKUP)
    assert "t-0 – 1 4 2" in text
    assert MARKUP not in await console.get("/group", id=MARKUP)
    assert "No group has nobody in its name." in await console.text("/groups", q="nobody")
    assert "there is no group nobody" in await console.text("/group", 404, id="nobody")


async def test_members_are_shown_with_what_they_are_assigned(console: Console, world: Inspected) -> None:
    world.services.catalogue.create_topic("t", 2)
    groups = world.services.groups
    join = JoinRequest("g", "", None, MARKUP, "/10.0.0.1", 30_000, 30_000, "consumer", (("range", b""),), False, False)
    joining = groups.join(join)
    world.clock.advance(1)
    joined = await asyncio.wait_for(now(joining), 10)
    assigned = ConsumerProtocolAssignment(
        assigned_partitions=[ConsumerProtocolAssignmentTopicPartition(topic="t", partitions=[0, 1])]
    )
    data = b"\0\0" + codec(ConsumerProtocolAssignment, 0).encode(assigned)
    sync = SyncRequest("g", 1, joined.member_id, None, "consumer", "range", ((joined.member_id, data),))
    await now(groups.sync(sync))
    assert "g Stable classic, range 1 1 0 nothing committed" in await console.text("/groups")
    text = await console.text("/group", id="g")
    assert "g Stable" in text
    assert "&lt;i&gt;x&lt;/i&gt; /10.0.0.1" in text
    assert "t-0 , t-1" in text


async def test_topics_are_shown_with_what_is_their_own(console: Console, world: Inspected) -> None:
    world.services.catalogue.create_topic("orders", 2, configs={"retention.ms": "5000"})
    world.append("orders", b"a", b"b")
    assert "orders 2 2 " in await console.text("/topics")
    assert "orders" not in await console.text("/topics", q="pay")
    text = await console.text("/topics/orders")
    assert "orders-0 0 2 2 " in text
    assert "retention.ms 5000" in text
    assert "there is no topic nowhere" in await console.text("/topics/nowhere", 404)


async def test_the_first_page_counts_what_the_broker_holds(console: Console, world: Inspected) -> None:
    assert "topics 0 partitions 0 offsets 0 " in await console.text("")
    world.services.catalogue.create_topic("orders", 2)
    world.append("orders", b"a", b"b", b"c")
    await world.begin("open", ("orders", 0))
    await world.commit("readers", "orders", 1)
    text = await console.text("")
    assert "topic 1 partitions 2 offsets 4 " in text
    assert "group 1 open transaction 1 " in text
    assert "--from-beginning --exit-at-end hello" in text


async def test_settings_show_what_differs(console: Console) -> None:
    text = await console.text("/settings")
    assert "Changed, 3" in text
    assert "offsets.topic.num.partitions 2 50 given at the start read-only" in text
    assert "message.max.bytes" not in text
    assert "message.max.bytes" in await console.text("/settings", which="all", q="message.max")
    assert "No key has nonsense in its name" in await console.text("/settings", q="nonsense")


async def test_health_states_what_is_wrong(console: Console) -> None:
    text = await console.text("/health")
    assert "the broker is starting" in text
    assert "something" in text
    assert "/data has room" in text


async def test_the_clock_is_moved_from_its_page() -> None:
    world = BrokerWorld(movable=True)
    console = Console(world)
    before = world.services.clock.now_ms()

    async def change(status: int, **form: Any) -> str:
        return (await console.post("/clock/change", status, **form)).text

    await change(303, what="freeze")
    assert "frozen" in await console.text("/clock")
    await change(303, what="advance", by="15m")
    assert world.services.clock.now_ms() == before + 900_000
    assert "15 min" in await console.text("/clock")
    assert "clock frozen" in await console.text("/topics")
    await change(303, what="at", moment="2023-11-15T22:13:20Z")
    assert world.services.clock.now_ms() == before + 86_400_000
    assert "is not a length of time" in await change(409, what="advance", by="soon")
    assert "the clock does not go back" in await change(409, what="at", moment="2020-01-01")
    await change(303, what="run")
    assert "running" in await console.text("/clock")
    only_look = Console(world, may_change=False)
    assert "<form" not in await only_look.get("/clock")


async def test_a_clock_that_cannot_be_moved_is_shown(console: Console) -> None:
    assert "The clock of this broker is the machine&#39;s" in (await console.text("/clock")).replace("'", "&#39;")
    assert "start it with --control" in (await console.post("/clock/change", 409, what="freeze")).text


async def test_faults_are_armed_shown_and_taken_back(console: Console) -> None:
    assert "No fault is armed" in await console.text("/faults")
    plan = '{"name": "<b>lost</b>", "match": {"api": "EndTxn"}, "do": {"lose_answer": true}}'
    assert (await console.post("/faults/arm", 400, plan=plan)).text.count('role="alert"') == 1
    await console.post("/faults/arm", 303, plan=plan.replace("<b>lost</b>", "lost"))
    text = await console.text("/faults")
    assert "lost {&#34;api&#34;: &#34;EndTxn&#34;} {&#34;lose_answer&#34;: true} 1 0 0 –" in text
    assert "there is no fault" in (await console.post("/faults/change", 404, what="disarm", name="other")).text.lower()
    assert "<form" not in await Console(console.world, may_change=False).get("/faults")
    await console.post("/faults/change", 303, what="disarm", name="lost")
    await console.post("/faults/arm", 303, plan=plan.replace("<b>lost</b>", "lost"))
    await console.post("/faults/change", 303, what="reset")
    assert "No fault is armed" in await console.text("/faults")
    assert (await console.post("/faults/arm", 400, plan="{")).text.count('role="alert"') == 1
