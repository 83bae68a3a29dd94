"""Why a group's rebalance does not end, member by member, for both protocols."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.broker.insight.why import reading
from barnabas.broker.insight.why.rules import group
from barnabas.broker.insight.why.rules.group import GroupFacts, MemberFacts, Stands
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from tests.support.inspected_broker import Inspected
from tests.support.requests import join_group, sync_group
from tests.support.why import Asked
from tests.support.worlds.broker import BrokerWorld, Peer

NONE = ErrorCode.NONE
OF_T = b"\0\0\0\0\0\1\0\1t\0\0\0\0"  # a subscription


@pytest.fixture
async def world() -> Inspected:
    return Inspected(topics={"t": 4})


# --- the classic protocol --------------------------------------------------------------------------------------------


class Classic:
    """A member of the classic protocol, on a connection of its own."""

    def __init__(self, world: BrokerWorld) -> None:
        self.world = world
        self.peer: Peer = world.connect()
        self.member_id = ""
        self.generation_id = -1

    async def join(self) -> None:
        """JoinGroup, which waits for the others."""
        self.peer.ask(join_group("g", self.member_id, OF_T, session_timeout_ms=45_000), 3)
        await self.world.advance(0)

    async def alone(self) -> Classic:
        """Be the only member, and lead it."""
        await self.join()
        await self.joined()
        await self.sync(self)
        return self

    async def joined(self) -> None:
        answer = self.peer.answer()
        assert answer.error_code == NONE
        self.member_id, self.generation_id = answer.member_id, answer.generation_id

    async def sync(self, *members: Classic, assignment: bytes = b"") -> None:
        given = {each.member_id: assignment for each in members}
        await self.peer.put(sync_group("g", self.generation_id, self.member_id, given), 2)

    async def heartbeat(self) -> ErrorCode:
        await self.peer.put(
            HeartbeatRequest(group_id="g", generation_id=self.generation_id, member_id=self.member_id), 2
        )
        return ErrorCode(self.peer.answer().error_code)


async def test_a_group_that_there_is_not_one_without_members_and_a_stable_one(world: Inspected, asked: Asked) -> None:
    assert str(await asked.group("g")).startswith("There is no group g")
    await world.commit("g", "t", 1)
    assert str(await asked.group("g")) == "Group g has no members: no consumer reads for it, except with assign()."
    await Classic(world).alone()
    assert str(await asked.group("g")) == "Group g waits for no member: it is Stable, with 1 member."


async def test_members_that_have_not_joined_again_and_the_leader_that_does_not_assign(
    world: Inspected, asked: Asked
) -> None:
    first, second = await Classic(world).alone(), Classic(world)
    first.peer.answers()
    await second.join()
    world.clock.advance(10_000)
    answer = await asked.group("g")
    assert list(answer.sentences) == [
        "Group g rebalances: it waits for 1 member to join again.",
        "In 50 s the group continues without the members that it waits for.",
        f"Member {first.member_id} (client test at 127.0.0.1) has not joined again; it is removed in 35 s "
        f"unless it sends a heartbeat.",
    ]
    told: Any = answer.evidence["members"]
    assert [each["stands"] for each in told] == ["has not joined again", "has joined again, and waits for the others"]
    assert await first.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    await first.join()
    await first.joined()
    await second.joined()
    await second.sync()
    answer = await asked.group("g")
    assert list(answer.sentences) == [
        "Group g rebalances: all have joined, and it waits for the leader's assignment.",
        "In 1 min the group continues without the members that it waits for.",
        f"Member {first.member_id} (client test at 127.0.0.1) leads, and has not sent the assignment; it is removed "
        f"in 45 s unless it sends a heartbeat.",
    ]
    await first.sync(first, second)
    assert "waits for no member: it is Stable, with 2 members." in str(await asked.group("g"))


async def test_a_rebalance_is_what_a_consumer_hears_of_first(world: Inspected, asked: Asked) -> None:
    await Classic(world).alone()
    await Classic(world).join()
    answer = await asked.consumer("g", "t")
    assert answer.sentences[0] == "Group g rebalances: it waits for 1 member to join again."


async def test_a_new_group_that_waits_for_company() -> None:
    world = BrokerWorld({"group.initial.rebalance.delay.ms": "3000"}, topics={"t": 1})
    await Classic(world).join()
    world.clock.advance(1_000)
    assert str(await Asked(world.services).group("g")).startswith(
        "Group g is new and waits for more members to come: group.initial.rebalance.delay.ms, 2 s more."
    )


async def test_an_id_that_was_given_and_not_used(world: Inspected, asked: Asked) -> None:
    first, second = await Classic(world).alone(), Classic(world)
    first.peer.answers()
    await second.peer.put(join_group("g", "", OF_T, session_timeout_ms=45_000), 5)
    assert second.peer.answer().error_code == ErrorCode.MEMBER_ID_REQUIRED
    third = Classic(world)
    await third.join()
    assert await first.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    await first.join()
    answer = str(await asked.group("g"))
    assert "it waits for 1 member to join again" in answer
    assert (
        "received its member id, and has not joined with it; it is removed in 45 s unless it sends a heartbeat."
        in answer
    )


# --- the consumer protocol -------------------------------------------------------------------------------------------


async def beat(
    world: Inspected, member_id: str, epoch: int, owned: list[int] | None = None, *, joins: bool = False
) -> Any:
    """A heartbeat of the consumer protocol; who joins subscribes to t."""
    topic_id = world.services.catalogue.topics["t"].topic_id
    has = None if owned is None else [TopicPartitions(topic_id=topic_id, partitions=owned)] if owned else []
    request = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id=member_id,
        member_epoch=epoch,
        rebalance_timeout_ms=60_000 if joins else -1,
        subscribed_topic_names=["t"] if joins else None,
        topic_partitions=[] if joins else has,
    )
    peer = world.connect()
    await peer.put(request)
    answer = peer.answer()
    assert answer.error_code == NONE, answer
    return answer


async def test_members_that_revoke_wait_or_lag(world: Inspected, asked: Asked) -> None:
    one = await beat(world, "one", 0, joins=True)
    world.clock.advance(2_000)
    two = await beat(world, "two", 0, joins=True)
    answer = await asked.group("g")
    assert answer.sentences[0] == "Group g rebalances to epoch 3: it waits for 1 member out of 2."
    assert "Member one (client test at 127.0.0.1) has not sent a heartbeat since the assignment changed" in str(answer)
    assert "Member two (client test at 127.0.0.1) waits for partitions that other members have not revoked" in str(
        answer
    )
    assert ", owned by one." in str(answer)
    one = await beat(world, "one", one.member_epoch, [0, 1, 2, 3])
    world.clock.advance(1_000)
    answer = await asked.group("g")
    assert answer.sentences[0] == "Group g rebalances to epoch 3: it waits for 1 member out of 2."
    assert (
        "Member one (client test at 127.0.0.1) must revoke partitions, and has not confirmed that: "
        "t-2 and t-3; it is removed in 44 s unless it sends a heartbeat."
    ) in answer.sentences
    facts: Any = {each["member_id"]: each for each in answer.evidence["members"]}
    assert facts["one"]["partitions"] == ["t-2", "t-3"]
    assert facts["one"]["deadline_left_ms"] == 59_000
    one = await beat(world, "one", one.member_epoch, [0, 1])
    two = await beat(world, "two", two.member_epoch)
    two = await beat(world, "two", two.member_epoch, [2, 3])
    assert "waits for no member: it is Stable, with 2 members." in str(await asked.group("g"))
    facts_now: Any = (await asked.group("g")).evidence["members"]
    assert {each["member_epoch"] for each in facts_now} == {3}


async def test_an_assignment_that_is_still_to_be_computed(world: Inspected, asked: Asked) -> None:
    await beat(world, "one", 0, joins=True)
    await beat(world, "two", 0, joins=True)  # within group.consumer.assignment.interval.ms: it is not computed yet
    answer = await asked.group("g")
    assert answer.sentences[0] == (
        "Group g rebalances: the assignment is of epoch 2, the group's epoch is 3. "
        "The next heartbeat of a member computes it again."
    )


async def test_a_regular_and_a_huge_group_are_reported_in_bounds(world: Inspected, asked: Asked) -> None:
    for number in range(130):
        await beat(world, f"m{number}", 0, joins=True)
    answer = await asked.group("g")
    facts: Any = answer.evidence
    assert facts["members_count"] == 130
    assert len(facts["members"]) == 100
    assert len(answer.sentences) < 15


async def test_an_assignment_that_is_too_long_to_be_read_says_nothing_of_who_has_a_partition(
    world: Inspected, monkeypatch: pytest.MonkeyPatch, asked: Asked
) -> None:
    alone = Classic(world)
    await alone.join()
    await alone.joined()
    assigned = b"\0\0\0\0\0\1\0\1t\0\0\0\1\0\0\0\0\0\0\0\0"
    await alone.sync(alone, assignment=assigned)
    world.append("t", b"v")
    assert f"Member {alone.member_id} can read them now" in str(await asked.consumer("g", "t"))
    monkeypatch.setattr(reading, "ASSIGNMENT_BYTES_MAX", len(assigned) - 1)
    assert "They can be read now: nothing in the broker holds them back." in str(await asked.consumer("g", "t"))


def test_of_many_members_some_are_told() -> None:
    members = tuple(MemberFacts(f"m{n}", Stands.NOT_JOINED, session_left_ms=1_000 * n) for n in range(30))
    facts = GroupFacts("g", state="PreparingRebalance", members_count=40, members=members, holding_up_count=30)
    told = group.explain(facts).sentences
    assert told[0] == "Group g rebalances: it waits for 30 members to join again."
    assert told[1] == "Member m0 has not joined again; it is removed in 0 ms unless it sends a heartbeat."
    assert (len(told), told[-1]) == (group.SHOWN_MAX + 2, "The group waits for 20 more members.")
