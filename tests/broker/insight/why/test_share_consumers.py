"""Why the members of a share group receive nothing."""

import pytest

from barnabas.broker.coordinator.group.decisions.share.model import ShareHeartbeatRequest
from barnabas.broker.insight.why.rules.share_consumer import SharePartitionFacts, share_sentences
from tests.support.inspected_broker import now
from tests.support.why import Asked
from tests.support.worlds.share_world import ShareMember, ShareWorld

ACCEPT, RELEASE = 1, 2
NOTHING = "Nothing holds group g up: no record of its partitions is unfinished."


class Reading(ShareWorld):
    """A share group with members that are assigned the partition of `t`."""

    async def beat(self, member: str, epoch: int, *topics: str) -> int:
        request = ShareHeartbeatRequest("g", member, epoch, topic_names=topics or None)
        answer: int = (await now(self.services.groups.share.heartbeat(request))).member_epoch
        return answer

    async def join(self, member: str) -> ShareMember:
        """A member with its assignment."""
        epoch = await self.beat(member, 0, "t")
        await self.settle()
        await self.advance(5_000)
        await self.beat(member, epoch)
        return self.member(member)

    async def why(self, topic: str | None = None) -> tuple[str, ...]:
        return (await Asked(self.services).consumer("g", topic)).sentences


async def test_a_member_that_does_not_fetch_is_named() -> None:
    world = Reading()
    await world.join("m")
    assert await world.why() == (
        "No member fetches from t-0, which is assigned to member m: a share consumer fetches only in poll().",
    )


async def test_records_that_members_hold_keep_others_waiting() -> None:
    world = Reading()
    member = await world.join("m")
    world.append("t", b"a", b"b")
    await member.fetch()
    await world.advance(18_000)
    assert await world.why() == (
        "Every record of t-0 that is not finished is held by a member.",
        "Member m holds 2; the first lock ends in 12 s.",
    )
    assert await world.why("t") == await world.why()


async def test_a_full_partition_names_the_setting() -> None:
    world = Reading()
    world.configure("share.partition.max.record.locks", "100")
    member = await world.join("m")
    world.append("t", *(b"x" for _ in range(100)))
    world.append("t", b"new")
    await member.fetch()
    assert await world.why() == (
        "t-0 has 100 offsets in flight from 0 on, and share.partition.max.record.locks is 100: no new record is "
        "acquired before the first one is finished.",
        "Member m holds 100; the first lock ends in 30 s.",
    )


async def test_records_that_can_be_acquired_are_held_up_by_nothing() -> None:
    world = Reading()
    member = await world.join("m")
    world.append("t", b"a", b"b")
    await member.fetch()
    await member.acknowledge((0, 0, [RELEASE]))
    world.append("t", b"c")
    ready = "t-0 has a lag of 3, and 2 of its offsets can be acquired"
    assert await world.why() == (f"{ready}: nothing in the broker holds them back.",)
    await member.acknowledge(epoch=-1)
    ready = "t-0 has a lag of 3, and 3 of its offsets can be acquired"
    assert await world.why() == (
        f"{ready}, but no member that it is assigned to has a share session: a share consumer fetches only in poll().",
    )


async def test_a_group_that_has_everything_is_held_up_by_nothing() -> None:
    world = Reading()
    member = await world.join("m")
    world.append("t", b"a")
    await member.fetch()
    await member.acknowledge((0, 0, [ACCEPT]))
    assert await world.why() == (NOTHING,)


async def test_open_transactions_hold_records_back_from_committed_reading() -> None:
    world = Reading()
    world.configure("share.isolation.level", "read_committed")
    member = await world.join("m")
    await member.fetch()
    world.append("t", b"open", producer=(7, 0, 0), transactional=True)
    world.append("t", b"behind it")
    assert await world.why() == (
        "t-0 has nothing to acquire before offset 2: open transactions hold records back from offset 0 on, and "
        "share.isolation.level is read_committed.",
    )


async def test_a_topic_without_state_or_that_is_missing_is_named() -> None:
    world = Reading()
    world.persister.held = []
    await world.beat("m", 0, "t", "elsewhere")
    assert await world.why() == (
        "Group g subscribes to topic elsewhere, and there is no such topic.",
        "No member gets t-0 yet: a heartbeat assigns them once their state is stored.",
    )
    world.persister.let_go()
    await world.settle()
    assert await world.why() == (
        "Group g subscribes to topic elsewhere, and there is no such topic.",
        "No member is assigned t-0.",
    )
    world.services.catalogue.create_topic("u")
    assert (await world.why("u"))[0] == (
        "No member of group g subscribes to topic u: they subscribe to elsewhere and t."
    )


async def test_a_group_without_members_says_so_once() -> None:
    world = Reading()
    await world.join("m")
    await world.beat("m", -1)
    assert await world.why() == ("Group g has no members: no share consumer reads for it.",)


@pytest.mark.parametrize(("count", "more"), [(5, []), (6, ["1 more partition of it also wait, or have a lag."])])
def test_of_many_partitions_some_are_shown(count: int, more: list[str]) -> None:
    partitions = tuple(SharePartitionFacts("t", each, trouble="it is being loaded") for each in range(count))
    told = share_sentences("g", 1, partitions)
    assert told[0] == "t-0 cannot be read: it is being loaded."
    assert told[5:] == more
