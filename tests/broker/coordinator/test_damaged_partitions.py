"""One damaged partition of an internal topic takes none of the others with it, after a kill and in every start."""

import asyncio

import pytest

from barnabas.broker.coordinator.group.classic.model import CommitRequest, OffsetToCommit
from barnabas.broker.coordinator.runtime.placement import partition_for
from barnabas.broker.coordinator.transaction.model import InitRequest
from barnabas.broker.partitions.recovery_line import RecoveryLine
from barnabas.protocol.errors import ErrorCode, KafkaError
from tests.support.worlds.broker import ANSWER_TIMEOUT_S, BrokerWorld, code_of, until

PARTITIONS = 50
IDS = ("a", "b", "c")


@pytest.fixture(autouse=True, params=["on the loop", "as jobs"])
def ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "as jobs":
        monkeypatch.setattr(RecoveryLine, "is_beside", True)


def killed(world: BrokerWorld, topic: str) -> BrokerWorld:
    """A broker over what a killed one left, with the partition of the first id damaged."""
    name = f"/data/{topic}-{partition_for(IDS[0], PARTITIONS)}/leader-epoch-checkpoint"
    world.files.crash("everything")
    file = world.files.open(name, create=True)
    file.pwrite(b"not a checkpoint", 0)
    file.close()
    return BrokerWorld(files=world.files)


async def test_the_groups_of_the_other_partitions_work(caplog: pytest.LogCaptureFixture) -> None:
    world = BrokerWorld(topics={"t": 1})
    topic_id = world.services.catalogue.topics["t"].topic_id
    for group in IDS:
        asked = CommitRequest(group, -1, "", None, (OffsetToCommit("t", topic_id, 0, 7, -1, ""),))
        world.services.groups.commit_offsets(asked, missing_group=ErrorCode.GROUP_ID_NOT_FOUND)
    world = killed(world, "__consumer_offsets")
    await asyncio.wait_for(world.broker.start(), ANSWER_TIMEOUT_S)
    await until(lambda: world.broker.recovery.progress is None and not len(world.services.partitions.recoveries))
    for group in IDS[1:]:
        await until(lambda group=group: _offset(world, group) == 7)  # type: ignore[misc]  # a default
    for _ in range(3):
        assert code_of(lambda: world.services.groups.fetch_offsets(IDS[0])) is ErrorCode.NOT_COORDINATOR
    assert caplog.text.count("could not open partition") == 1


def _offset(world: BrokerWorld, group: str) -> int | None:
    try:
        return world.services.groups.fetch_offsets(group).offsets["t"][0].offset
    except KafkaError as error:
        if error.code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            raise
        return None


async def test_a_start_loads_the_other_transactions_and_is_not_held_up(caplog: pytest.LogCaptureFixture) -> None:
    world = BrokerWorld()
    for transactional_id in IDS:
        world.services.transactions.init_producer_id(InitRequest(transactional_id, 60_000))
    world = killed(world, "__transaction_state")
    await asyncio.wait_for(world.broker.start(), ANSWER_TIMEOUT_S)
    for transactional_id in IDS[1:]:
        assert world.services.transactions.describe(transactional_id) is not None
    assert code_of(lambda: world.services.transactions.describe(IDS[0])) is ErrorCode.NOT_COORDINATOR
    assert caplog.text.count("could not open partition") == 1
