"""A partition of a coordinator's topic that cannot be loaded is its own trouble: all others are loaded and served."""

import asyncio
from collections.abc import Callable
from functools import partial

import pytest

from barnabas.broker.coordinator.runtime import coordinator_partitions
from barnabas.broker.coordinator.runtime.loading import Loader
from barnabas.broker.coordinator.runtime.partition_for import partition_for
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState as S
from barnabas.broker.partitions.opening.recovery_queue import RecoveryQueue
from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.files.names import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from tests.support.files.memory_files import MemoryFiles
from tests.support.worlds.broker import ANSWER_TIMEOUT_S, BrokerWorld, code_of, settle, until
from tests.support.worlds.transactional_broker import STATE_PARTITIONS, TIMEOUT_MS, TransactionalBroker

IDS = ("a", "b", "c", "d")
BAD = partition_for("a", STATE_PARTITIONS)
BAD_DIRECTORY = f"{TRANSACTION_STATE_TOPIC}-{BAD}"
assert len({partition_for(each, STATE_PARTITIONS) for each in IDS}) == STATE_PARTITIONS


def refuse_to_open(files: MemoryFiles, directory: str) -> None:
    """The operating system does not give the file."""
    files.fail("open", path=f"{directory}/")


def damage_what_was_synced(files: MemoryFiles, directory: str) -> None:
    """A file that nothing rebuilds is not what it was."""
    files.open(f"/data/{directory}/leader-epoch-checkpoint", create=True).pwrite(b"damaged", 0)


def damage_a_batch(files: MemoryFiles, directory: str) -> None:
    """The log opens, and has what no batch is in it."""
    files.open(f"/data/{directory}/{0:020d}.log").pwrite(b"\xff" * 17, 8)


Harm = Callable[[MemoryFiles, str], None]


async def abandoned() -> TransactionalBroker:
    """One open transaction in each of three partitions of `__transaction_state`."""
    world = TransactionalBroker()
    for partition, transactional_id in enumerate(IDS[:3]):
        await (await world.producer(transactional_id)).send(b"abandoned", partition)
    return world


async def next_run(world: TransactionalBroker, how: str, harm: Harm, directory: str) -> TransactionalBroker:
    """The run after a death, over a disk that came to harm meanwhile; all that is loaded in the background is."""
    if how == "stop":
        await world.close()
    else:
        world.files.crash("everything")
        world.broker.is_closed = True
    harm(world.files, directory)
    after = TransactionalBroker(world.settings, world.files)
    await after.until(after.broker.broker.settle_transactions())
    await after.advance(1_100)
    return after


@pytest.mark.parametrize(
    ("how", "harm"),
    [
        ("kill", refuse_to_open),
        ("kill", damage_what_was_synced),
        ("stop", refuse_to_open),
        ("stop", damage_what_was_synced),
        ("stop", damage_a_batch),
    ],
)
async def test_other_partitions_of_transactions_are_loaded_and_what_is_abandoned_ends(how: str, harm: Harm) -> None:
    world = await next_run(await abandoned(), how, harm, BAD_DIRECTORY)
    assert len(list(world.coordinator.loaded())) == STATE_PARTITIONS - 1
    assert code_of(lambda: world.txn("a")) is E.NOT_COORDINATOR
    await world.advance(TIMEOUT_MS + 10_000)
    assert (world.txn("b").state, world.txn("c").state) == (S.COMPLETE_ABORT, S.COMPLETE_ABORT)
    assert code_of(lambda: world.txn("a")) is E.NOT_COORDINATOR
    producer = await world.producer("b")
    await producer.send(b"new", 1)
    await world.end(producer, commit=True)
    assert world.read(1) == [b"new"]
    assert {txn.transactional_id for txn in world.coordinator.transactions()} == {"b", "c"}


@pytest.mark.parametrize("how", ["kill", "stop"])
async def test_an_abandoned_transaction_of_a_late_partition_ends_by_itself(how: str) -> None:
    world = await next_run(await abandoned(), how, refuse_to_open, BAD_DIRECTORY)
    world.files.heal()
    await world.advance(TIMEOUT_MS + 10_000)
    assert world.txn("a").state is S.COMPLETE_ABORT


async def test_prepared_transactions_of_a_late_partition_are_finished() -> None:
    world = await abandoned()
    producer = await world.producer("a")
    await producer.send(b"decided", 0)
    await producer.send(b"decided", 1)
    world.files.fail("pwrite", path="/t-1/")
    assert (await world.end(producer, commit=True)).error is E.NONE
    world.files.heal()
    world = await next_run(world, "kill", refuse_to_open, BAD_DIRECTORY)
    world.files.heal()
    await world.advance(coordinator_partitions.RETRY_MS)
    assert world.txn("a").state is S.COMPLETE_COMMIT
    assert world.read(0)[-1:] == [b"decided"]


async def test_many_who_request_a_partition_that_cannot_be_loaded_have_it_tried_once_in_a_while() -> None:
    world = await next_run(await abandoned(), "stop", refuse_to_open, BAD_DIRECTORY)

    before = len(world.files.calls)

    def tries() -> int:
        for _ in range(100):
            world.coordinator.prepare("a")
            assert code_of(lambda: world.txn("a")) is E.NOT_COORDINATOR
        return sum(call.name == "open" and BAD_DIRECTORY in call.path for call in world.files.calls[before:])

    assert tries() == 0
    world.broker.clock.advance(coordinator_partitions.RETRY_MS)
    assert tries() == 1


async def test_our_own_mistake_about_one_partition_stops_no_start(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    step = Loader.step

    def mistaken(loader: Loader[object]) -> bool:
        if loader._partition == BAD:
            raise ZeroDivisionError("nobody thought of this")
        return step(loader)

    world = await abandoned()
    monkeypatch.setattr(Loader, "step", mistaken)
    world = await next_run(world, "kill", lambda files, directory: None, BAD_DIRECTORY)
    assert len(list(world.coordinator.loaded())) == STATE_PARTITIONS - 1
    assert any(record.exc_info for record in caplog.records)


# --- groups ---

GROUPS = ("a", "b")
BAD_OFFSETS = f"{CONSUMER_OFFSETS_TOPIC}-{partition_for('a', 50)}"


@pytest.mark.parametrize("how", ["kill", "stop"])
@pytest.mark.parametrize("harm", [refuse_to_open, damage_what_was_synced])
async def test_the_groups_of_the_other_partitions_are_listed_and_served(how: str, harm: Harm) -> None:
    world = TransactionalBroker()
    for group_id in GROUPS:
        world.broker.commit_offset(5, group_id)
    world = await next_run(world, how, harm, BAD_OFFSETS)
    groups = world.broker.services.groups
    groups.prepare("a")
    assert code_of(lambda: groups.describe("a")) is E.NOT_COORDINATOR
    assert [group.group_id for group in groups.groups()] == ["b"]
    assert world.broker.commit_offset(6, "b") == (E.NONE,)
    assert world.broker.committed("b") == {0: 6}


@pytest.mark.parametrize("is_beside", [False, True], ids=["on the loop", "as jobs"])
@pytest.mark.parametrize("directory", [BAD_DIRECTORY, BAD_OFFSETS])
async def test_a_start_after_a_kill_is_not_held_up_and_tells_once_of_what_it_cannot_open(
    directory: str, is_beside: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(RecoveryQueue, "is_beside", is_beside)
    world = await abandoned()
    for group_id in GROUPS:
        world.broker.commit_offset(7, group_id)
    world.files.crash("everything")
    damage_what_was_synced(world.files, directory)
    after = BrokerWorld(world.settings, world.files)
    await asyncio.wait_for(after.broker.start(), ANSWER_TIMEOUT_S)
    transactions = after.services.transactions
    assert None not in (transactions.describe("b"), transactions.describe("c"))
    await until(lambda: after.broker.recovery.progress is None and not len(after.services.partitions.recoveries))
    after.services.groups.prepare("b")
    await settle()
    assert after.committed("b") == {0: 7}
    for _ in range(3):
        seek: Callable[[str], object] = transactions.describe if directory == BAD_DIRECTORY else after.committed
        assert code_of(partial(seek, "a")) is E.NOT_COORDINATOR
    assert caplog.text.count("could not open partition") == 1


async def test_a_marker_for_offsets_that_cannot_be_loaded_is_written_when_they_can() -> None:
    world = TransactionalBroker()
    world.broker.commit_offset(5, "a")
    world = await next_run(world, "stop", refuse_to_open, BAD_OFFSETS)
    producer = await world.producer("b")
    await producer.send(b"v")
    await world.add(producer, (CONSUMER_OFFSETS_TOPIC, partition_for("a", 50)), version=2)
    await world.end(producer, commit=True)
    assert (world.txn("b").state, world.read()) == (S.PREPARE_COMMIT, [b"v"])
    world.files.heal()
    await world.advance(coordinator_partitions.RETRY_MS + 1_000)
    assert world.txn("b").state is S.COMPLETE_COMMIT
