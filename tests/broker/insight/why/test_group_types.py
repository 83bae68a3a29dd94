"""What share groups and streams groups wait for, and what their members read."""

from typing import Any

import pytest

from barnabas.broker.coordinator.group.decisions.share.model import ShareHeartbeatRequest
from barnabas.broker.coordinator.group.decisions.streams.model import StreamsHeartbeatRequest
from barnabas.broker.coordinator.group.decisions.streams.tasks import TaskSets
from tests.support.inspected_broker import Inspected, now
from tests.support.why import Asked
from tests.support.worlds.broker import BrokerWorld
from tests.support.worlds.memory_persister import MemoryPersister
from tests.support.worlds.streams_world import subtopology, tasks, topology

COPY = topology(subtopology("0", ["t"]))


class ShareWhy(Inspected):
    """A broker with the states of share groups in memory."""

    def __init__(self) -> None:
        super().__init__(topics={"t": 2})
        self.persister = MemoryPersister()
        self.services.deferred_persister.built = self.persister

    async def beat(self, member: str, epoch: int) -> None:
        """A heartbeat of a member of the share group `queue`."""
        names = ("t",) if epoch == 0 else None
        request = ShareHeartbeatRequest("queue", member, epoch, topic_names=names, client_id="app", client_host="/h")
        await now(self.services.groups.share.heartbeat(request))


async def test_a_share_group_waits_for_states_and_for_no_member() -> None:
    world = ShareWhy()
    asked = Asked(world.services)
    world.persister.held = []
    await world.beat("m", 0)
    told = await asked.group("queue")
    assert told.sentences == (
        "Group queue waits for no member: it is Stable, with 1 member.",
        "No member gets t-0 and t-1 yet: a heartbeat assigns them once their state is stored.",
    )
    world.persister.let_go()
    await world.settle()
    await world.advance(5_000)
    await world.beat("m", 2)
    told = await asked.group("queue")
    assert told.sentences == ("Group queue waits for no member: it is Stable, with 1 member.",)
    assert told.evidence["protocol"] == "share"
    assert told.evidence["members"] == [
        {
            "member_id": "m",
            "stands": "has its assignment",
            "client_id": "app",
            "client_host": "/h",
            "member_epoch": 3,
            "session_left_ms": 45_000,
        }
    ]
    await world.beat("m", -1)
    assert (await asked.group("queue")).sentences == ("Group queue has no members: no share consumer reads for it.",)


async def test_a_member_that_does_not_know_its_assignment_is_named() -> None:
    world = ShareWhy()
    await world.beat("m", 0)
    await world.settle()
    await world.advance(5_000)
    await world.beat("m", 2)
    await world.beat("late", 0)
    await world.advance(2_000)
    await world.beat("late", 3)
    told = await Asked(world.services).group("queue")
    first = "Group queue is Stable, and 1 member did not request the assignment yet."
    assert told.sentences[0] == first
    assert told.sentences[1].startswith("Member m (client app at h) has not sent a heartbeat since the assignment")


@pytest.fixture
async def world() -> Inspected:
    return Inspected(topics={"t": 2})


async def streams(world: BrokerWorld, member: str, epoch: int, owned: TaskSets | None = None, **more: Any) -> int:
    """A heartbeat of a member of the streams group `app`; its epoch after that."""
    joining: dict[str, Any] = (
        {"topology": COPY, "rebalance_timeout_ms": 60_000, "process_id": member} if epoch == 0 else {}
    )
    owned = TaskSets() if epoch == 0 else owned
    request = StreamsHeartbeatRequest("app", member, epoch, owned=owned, **{**joining, **more})
    epoch = (await now(world.services.groups.streams.heartbeat(request))).member_epoch
    return epoch


async def alone(world: BrokerWorld) -> int:
    """The epoch of `m`, which has joined as the first, and has its tasks."""
    epoch = await streams(world, "m", 0)
    await world.advance(3_000)
    return await streams(world, "m", epoch)


async def test_a_new_streams_group_waits_for_more_members(world: Inspected) -> None:
    await streams(world, "m", 0)
    told = await Asked(world.services).group("app")
    assert told.sentences[0] == (
        "Group app is new and waits for more members to come: initial.rebalance.delay.ms, 3 s more."
    )


async def test_a_streams_group_without_its_topics_has_no_tasks(world: Inspected) -> None:
    await streams(world, "m", 0, topology=topology(subtopology("0", ["nowhere"])))
    assert (await Asked(world.services).group("app")).sentences[0] == (
        "Group app has no tasks, since its topics do not fit its topology: Source topics nowhere are missing."
    )
    assert "group app" in await Asked(world.services).hanging()


async def test_a_streams_group_waits_for_tasks_that_are_given_up(world: Inspected) -> None:
    asked = Asked(world.services)
    epoch, both = await alone(world), tasks({"0": [0, 1]})
    await streams(world, "m", epoch, both)
    assert (await asked.group("app")).sentences == ("Group app waits for no member: it is Stable, with 1 member.",)
    other = await streams(world, "n", 0)
    await world.advance(2_000)
    other = await streams(world, "n", other)
    await streams(world, "m", epoch, both)
    told = (await asked.group("app")).sentences
    assert told[0] == f"Group app rebalances to epoch {other}: it waits for 1 member out of 2."
    assert told[1].startswith("Member m must revoke tasks, and has not confirmed that: 0_")
    assert any(each.startswith("Member n waits for tasks that other members have not revoked: 0_") for each in told)


async def test_a_streams_member_reads_the_partitions_of_its_tasks(world: Inspected) -> None:
    await alone(world)
    world.append("t", b"a", partition=1)
    told = await Asked(world.services).consumer("app")
    assert [(each["partition"], each["member_id"]) for each in told.evidence["partitions"]] == [(0, "m"), (1, "m")]
    assert "Member m can read them now: nothing in the broker holds them back." in told.sentences
