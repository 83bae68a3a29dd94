"""What is told while partitions are recovered or loaded, and while no node coordinates."""

import pytest

from barnabas.broker.coordinator.runtime import loading
from tests.broker.metadata.cluster.test_moving import switch
from tests.broker.metadata.cluster.test_three_nodes import coordinator_of, kept_at
from tests.support.files.memory_files import MemoryFiles
from tests.support.inspected_broker import Inspected
from tests.support.why import Asked
from tests.support.worlds.broker import BrokerWorld, settle, until
from tests.support.worlds.killed_partitions import killed

RECOVERED = "it is being recovered after the last run was killed"


async def test_a_partition_that_is_recovered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.storage.recovery.opening.PAUSE_AFTER", 64)
    world = await killed(700, 1)
    asked = Asked(world.services)
    assert str(await asked.record("t", 0, 0)) == f"t-0 cannot be read: {RECOVERED}."
    await until(lambda: ("t", 0) not in world.services.partitions.recoveries)
    await settle()
    assert "Every consumer can see it." in str(await asked.record("t", 0, 0))


@pytest.mark.pure
async def test_coordinators_that_load(monkeypatch: pytest.MonkeyPatch) -> None:
    files = MemoryFiles(0)
    first = Inspected(files, topics={"t": 1})
    for number in range(50):
        await first.commit("g", "t", number)
        await first.init("tx")
    await first.close()
    monkeypatch.setattr(loading, "SLICE_BYTES", 100)
    world = Inspected(files)
    asked = Asked(world.services)
    assert str(await asked.consumer("g")) == (
        "The coordinator of group g is not available: it is loading the partition of __consumer_offsets that the "
        "group is in; ask again."
    )
    assert str(await asked.producer("tx")) == (
        "The coordinator of transactional id tx is not available: it is loading the partition of __transaction_state "
        "that the id is in; ask again."
    )
    world.append("t", b"lost", producer=(4_711, 0, 0), transactional=True)
    assert "Its transactional id is not known yet" in str(await asked.record("t", 0, 0))
    await settle()
    await until(
        lambda: len(list(world.services.groups.loaded())) and len(list(world.services.transactions.loaded())) == 2
    )
    assert "t-0: the group's position is 49" in str(await asked.consumer("g"))
    assert "waits for nothing" in str(await asked.producer("tx"))


@pytest.mark.parametrize("kind", [0, 1], ids=["group", "transactional id"])
async def test_a_coordinator_on_a_stopped_node(kind: int) -> None:
    one_replica = {"offsets.topic.replication.factor": "1", "transaction.state.log.replication.factor": "1"}
    world = BrokerWorld(one_replica, nodes=3)
    at = {name: (await coordinator_of(world, name, kind)).node_id for name in map(kept_at, range(3))}
    name = next(name for name, node in at.items() if node != 1)
    await switch(world, at[name], "true")
    asked = Asked(world.services)
    told = str(await (asked.producer(name) if kind else asked.group(name)))
    assert "is not available: no node leads __" in told, told
