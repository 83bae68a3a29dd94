"""Requests that faults hold up: which fault, which request, since when, and what ends it."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from barnabas.broker.control.faults.faults import Faults
from barnabas.broker.control.faults.held_requests import about_step
from barnabas.broker.insight.why.hanging import hanging as all_that_hangs
from barnabas.broker.insight.why.held_requests import HELD_MAX
from barnabas.broker.insight.why.rules.held_requests import HeldFacts, HeldRequests, sentences
from barnabas.broker.insight.why.sources.armed_faults import ArmedFaults
from barnabas.broker.insight.why.sources.why_sources import WhySources
from barnabas.broker.services import Deferred
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from tests.broker.insight.why.test_groups import Classic
from tests.support.requests import end_txn, fetch, init_producer
from tests.support.why import Asked
from tests.support.worlds.broker import Peer, settle
from tests.support.worlds.faulty_broker import FaultyWorld, find


class Hanging(FaultyWorld):
    """With questions."""

    def __init__(self) -> None:
        super().__init__()
        built: Deferred[Faults] = Deferred(lambda: self.faults)
        built.get()
        self.ask = Asked(self.world.services, held_up=ArmedFaults(built))

    async def sent(self, *requests: Any, version: int | None = None) -> Peer:
        peer = self.connect()
        for request in requests:
            peer.ask(request, version)
        await settle()
        return peer

    def goes_by(self, ms: int) -> None:
        self.clock.advance(ms)


@pytest.fixture
async def hanging() -> AsyncIterator[Hanging]:
    hanging = Hanging()
    hanging.world.services.catalogue.create_topic("t", 1)
    hanging.world.services.catalogue.create_topic("u", 1)
    yield hanging
    await hanging.close()


async def test_a_producer_whose_request_stands_at_a_pause(hanging: Hanging) -> None:
    hanging.arm({"api": "InitProducerId", "transactional_id": "tx"}, {"pause": True}, name="p")
    peer = await hanging.sent(init_producer())
    hanging.goes_by(12_000)
    answer = await hanging.ask.producer("tx")
    assert answer.sentences[0] == (
        f"InitProducerId of client test from {peer.connection.peer} is paused by fault p, for 12 s so far: "
        "`barnabas faults release p` resumes it."
    )
    assert answer.sentences[1].startswith("There is no transactional id tx")
    (held,) = answer.evidence["held"]["longest"]
    assert (held["fault"], held["does"], held["held_for_ms"]) == ("p", "pause", 12_000)
    assert held["transactional_ids"] == ["tx"]
    assert "held" not in (await hanging.ask.producer("other")).evidence
    hanging.registry.release("p")
    await settle()
    assert "held" not in (await hanging.ask.producer("tx")).evidence


@pytest.mark.parametrize(
    ("do", "told"),
    [
        (
            {"delay": "5s"},
            "is delayed by fault f, for 2 s so far: it continues in 3 s, or at once with `barnabas faults disarm f`.",
        ),
        (
            {"throttle": 10},
            "is limited to 10 bytes a second by fault f, for 2 s so far: `barnabas faults disarm f` sends the rest at "
            "once.",
        ),
        (
            {"drop": True},
            "was not applied, and is never answered by fault f, for 2 s so far: its connection is closed in "
            "9 min 58 s, or at once with `barnabas faults disarm f`.",
        ),
        (
            {"lose_answer": True},
            "was applied, and is never answered by fault f, for 2 s so far: its connection is closed in "
            "9 min 58 s, or at once with `barnabas faults disarm f`.",
        ),
    ],
)
async def test_each_way_to_hold_a_request_up(hanging: Hanging, do: dict[str, Any], told: str) -> None:
    hanging.arm({"api": "EndTxn"}, do, name="f")
    peer = await hanging.sent(end_txn("tx", (0, 0)), version=4)
    hanging.goes_by(2_000)
    await settle()
    expected = f"EndTxn of client test from {peer.connection.peer} {told}"
    assert (await hanging.ask.producer("tx")).sentences[0] == expected
    assert (await hanging.ask.hanging())["fault f"].sentences == (expected,)
    hanging.registry.disarm("f")
    await settle()
    assert await hanging.ask.hanging() == {}


async def test_an_answer_that_comes_bit_by_bit_is_told_from_when_its_request_came(hanging: Hanging) -> None:
    hanging.arm({"api": "FindCoordinator"}, {"throttle": 20}, name="thin")
    await hanging.sent(find("g"))
    for _ in range(40):
        hanging.goes_by(50)
        await settle()
    (sentence,) = (await hanging.ask.hanging())["fault thin"].sentences
    assert "is limited to 20 bytes a second by fault thin, for 2 s so far" in sentence


async def test_a_group_whose_member_cannot_join(hanging: Hanging) -> None:
    hanging.arm({"api": "JoinGroup"}, {"pause": True}, name="j")
    member = Classic(hanging.world)
    await member.join()
    answer = await hanging.ask.group("g")
    assert answer.sentences[0].startswith(f"JoinGroup of client test from {member.peer.connection.peer} is paused by")
    assert answer.sentences[1].startswith("There is no group g")
    of_consumer = await hanging.ask.consumer("g")
    assert of_consumer.sentences == answer.sentences
    assert "held" not in (await hanging.ask.group("h")).evidence


async def test_a_consumer_whose_fetch_is_held_up_is_known_by_its_member(hanging: Hanging) -> None:
    member = await Classic(hanging.world).alone()
    hanging.arm({"api": "Fetch"}, {"drop": True}, name="lost", times="always")
    hanging.arm({"api": "Heartbeat"}, {"delay": "1m"}, name="slow", times="always")
    peer = await hanging.sent(fetch(wait_ms=500), version=4)
    for about in (await hanging.ask.consumer("g"), await hanging.ask.consumer("g", "t")):
        assert about.sentences[0].startswith(f"Fetch of client test from {peer.connection.peer} was not applied")
    assert "held" not in (await hanging.ask.consumer("g", "u")).evidence, "it names another topic"
    assert "held" not in (await hanging.ask.consumer("h")).evidence, "it has no such member"
    assert "held" not in (await hanging.ask.group("g")).evidence, "a Fetch is nothing of the group's"
    await hanging.sent(HeartbeatRequest(group_id="g", generation_id=1, member_id=member.member_id), version=2)
    assert "Heartbeat of client test" in (await hanging.ask.group("g")).sentences[0]
    await hanging.sent(HeartbeatRequest(group_id="other", generation_id=1, member_id="m"), version=2)
    told = [each["api"] for each in (await hanging.ask.consumer("g")).evidence["held"]["longest"]]
    assert sorted(told) == ["Fetch", "Heartbeat"], "that of another group is not this one's, whoever sent it"


async def test_of_many_some_are_reported_and_how_many_more(hanging: Hanging) -> None:
    hanging.arm({"api": "FindCoordinator"}, {"pause": True}, name="f", times="always")
    for _ in range(300):
        await hanging.sent(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]))
        hanging.goes_by(1)
    answer = (await hanging.ask.hanging())["fault f"]
    assert (len(answer.evidence["held"]["longest"]), answer.evidence["held"]["requests_count"]) == (HELD_MAX, 300)
    assert "for 300 ms so far" in answer.sentences[0], "those that wait longest"
    assert answer.sentences[-1] == "Faults hold up 295 more requests of this."


async def test_however_many_are_held_up_few_are_looked_at_in_a_step(hanging: Hanging) -> None:
    class Many:
        looked = 0

        def requests(self) -> Iterator[HeldFacts]:
            for number in range(5_000):
                self.looked += 1
                yield HeldFacts(fault=f"f{number % 7}", does="pause", held_for_ms=number, groups=("g",))

        def steps(self) -> Iterator[HeldFacts]:
            return iter(())

    many = Many()
    most = before = 0
    for _ in all_that_hangs(WhySources(hanging.world.services, held_up=many)):
        most, before = max(most, many.looked - before), many.looked
    assert many.looked == 5_000
    assert most <= 200


async def test_a_fault_that_was_not_requested_is_not_built(hanging: Hanging) -> None:
    def build() -> Faults:
        raise AssertionError("somebody asked")

    asked = Asked(hanging.world.services, held_up=ArmedFaults(Deferred(build)))
    assert await asked.hanging() == {}


def test_a_pause_at_a_step_of_a_share_group_names_the_group() -> None:
    about = about_step(0, "share.dead_letters_writing", {"group": "workers", "topic": "jobs", "partition": 0})
    held = HeldFacts("dl", "pause", 12_000, point=about.point, topics=about.topics, groups=about.groups)
    assert sentences(HeldRequests((held,), 1)) == [
        "Work for share group workers, at the step share.dead_letters_writing, is paused by fault dl, for 12 s so far: "
        "`barnabas faults release dl` resumes it."
    ]
