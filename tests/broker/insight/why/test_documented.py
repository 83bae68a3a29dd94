"""The examples in docs/why.md are what the broker answers: the story there is lived here."""

import re
from pathlib import Path

from barnabas.broker.insight.why.sources.armed_faults import ArmedFaults
from barnabas.broker.services import Deferred
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.broker.insight.why.test_groups import beat
from tests.broker.insight.why.test_kept_out import Watch
from tests.broker.runtime.events.test_security import AUTHORIZED, client_of
from tests.support.inspected_broker import Inspected
from tests.support.requests import init_producer
from tests.support.source_tree import ROOT
from tests.support.why import Asked
from tests.support.worlds.broker import BrokerWorld
from tests.support.worlds.faulty_broker import FaultyWorld

PAGE: Path = ROOT / "docs" / "why.md"


def examples() -> dict[str, str]:
    """What each command in the page prints."""
    found = re.findall(r"^\$ (barnabas why [^\n]+)\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    return {command: said.rstrip("\n") for command, said in found}


async def told_of_a_fault() -> str:
    """The producer till, whose first request stands at a pause."""
    world = FaultyWorld()
    faults = Deferred(lambda: world.faults)
    faults.get()
    world.arm({"api": "InitProducerId"}, {"pause": True}, name="slow-start")
    peer = world.connect()
    await peer.put(init_producer("till"))
    world.clock.advance(12_000)
    told = await Asked(world.world.services, held_up=ArmedFaults(faults)).producer("till")
    await world.close()
    return str(told).replace(peer.connection.peer, "127.0.0.1:50312")


async def told_of_a_denial() -> str:
    """The group readers, which a client may not read."""
    watch = Watch()
    world = BrokerWorld(AUTHORIZED, stopwatch=watch)
    alice = client_of(world, "alice")
    heartbeat = ConsumerGroupHeartbeatRequest(group_id="readers", member_id="m", member_epoch=0)
    for _ in range(4):
        await alice.ask(heartbeat, 1)
    watch.now_s = 3.0
    told = await Asked(world.services).group("readers")
    await world.close()
    return str(told)


async def test_the_examples_are_true() -> None:
    world = Inspected(topics={"orders": 2})
    world.services.catalogue.create_topic("t", 4)
    asked = Asked(world.services)
    told = {"barnabas why producer till": await told_of_a_fault()}
    told["barnabas why group readers"] = await told_of_a_denial()
    for value in (b"a", b"b"):
        world.append("orders", value)
    await world.commit("billing", "orders", 2, 0)
    shop = await world.begin("shop", ("orders", 0))
    for value in (b"c", b"d"):
        world.append("orders", value)
    world.clock.advance(12_000)
    told["barnabas why consumer billing orders"] = str(await asked.consumer("billing", "orders"))
    told["barnabas why record orders:0:3"] = str(await asked.record("orders", 0, 3))
    told["barnabas why producer shop"] = str(await asked.producer("shop"))
    await world.end("shop", shop, is_commit=False)
    told["barnabas why record orders:0:2"] = str(await asked.record("orders", 0, 2))
    one = await beat(world, "one", 0, joins=True)
    world.clock.advance(2_000)
    await beat(world, "two", 0, joins=True)
    await beat(world, "one", one.member_epoch, [0, 1, 2, 3])
    world.clock.advance(5_000)
    told["barnabas why group g"] = str(await asked.group("g"))
    assert examples() == told
