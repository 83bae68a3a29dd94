"""Partitions that are recovered while others are served: who waits, who does not, what becomes of those that go."""

import asyncio
import errno
import threading

import pytest

from barnabas.broker.coordinator.transaction.decisions.model import InitRequest
from barnabas.broker.partitions.opening.recoveries import BEGUN_MAX, StillRecovering
from barnabas.broker.partitions.opening.recovery_queue import RecoveryQueue
from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from barnabas.storage.disk.sync_job import SyncJob
from barnabas.storage.errors import StorageError
from tests.support.requests import txn_commit
from tests.support.worlds.broker import ANSWER_TIMEOUT_S, BrokerWorld, code_of, settle, turn, until
from tests.support.worlds.killed_partitions import fetch, fetched, killed, produce, produced

ON_THE_LOOP = pytest.mark.parametrize("ways", ["on the loop"], indirect=True)
LONG = 700  # batches: several slices


@pytest.fixture(autouse=True, params=["on the loop", "as jobs"])
def ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short slices; and recovery as it is done beside the loop, by jobs, which do their steps here."""
    monkeypatch.setattr("barnabas.storage.recovery.opening.PAUSE_AFTER", 64)
    if request.param == "as jobs":
        monkeypatch.setattr(RecoveryQueue, "is_beside", True)


def has_marker(world: BrokerWorld) -> bool:
    """Whether the last stop called itself clean."""
    return ".kafka_cleanshutdown" in [entry.name for entry in world.files.entries("/data")]


def is_recovering(world: BrokerWorld, partition: int) -> bool:
    return ("t", partition) in world.services.partitions.recoveries


async def until_recovered(world: BrokerWorld) -> None:
    """Until nothing is being recovered."""
    await until(lambda: not len(world.services.partitions.recoveries))
    await settle()


async def test_others_are_served_while_a_partition_is_recovered() -> None:
    world = await killed(LONG, 1)
    waiting, other = world.connect(), world.connect()
    waiting.ask(fetch(world, 0))
    for _ in range(3):
        other.ask(fetch(world, 1))
        (result,) = fetched(other)
        assert (result.error_code, result.high_watermark) == (E.NONE, 1)
        await turn()
    assert is_recovering(world, 0)
    assert not waiting.frames()
    await until_recovered(world)
    (result,) = fetched(waiting)
    assert (result.error_code, result.high_watermark) == (E.NONE, LONG)


async def test_a_short_log_is_open_for_the_very_request_that_asked() -> None:
    world = await killed(3)
    assert world.services.partitions.get("t", 0).log_end_offset == 3


async def test_after_a_clean_stop_nothing_waits() -> None:
    first = await killed(LONG)
    with pytest.raises(StillRecovering):
        first.services.partitions.get("t", 0)
    await until_recovered(first)
    await first.close()
    world = BrokerWorld(files=first.files)
    assert world.services.partitions.get("t", 0).log_end_offset == LONG


async def test_a_produce_waits_for_the_only_partition_it_names_and_is_appended_once() -> None:
    world = await killed(LONG)
    first, second = world.connect(), world.connect()
    first.ask(produce(world, 0))
    second.ask(produce(world, 0))
    assert not first.frames()
    await until_recovered(world)
    offsets = [produced(peer)[0].base_offset for peer in (first, second)]
    assert offsets == [LONG, LONG + 1]
    assert world.services.partitions.recoveries.parked_bytes == 0


async def test_a_produce_that_has_something_to_serve_serves_it_and_refuses_the_rest() -> None:
    world = await killed(LONG, 1)
    peer = world.asking(produce(world, 0, 1))
    assert [(each.index, each.error_code, each.base_offset) for each in produced(peer)] == [
        (0, E.NOT_LEADER_OR_FOLLOWER, -1),
        (1, E.NONE, 1),
    ]
    await until_recovered(world)
    assert world.services.partitions.get("t", 0).log_end_offset == LONG


async def test_a_produce_waits_no_longer_than_its_timeout() -> None:
    world = await killed(LONG)
    peer = world.asking(produce(world, 0, timeout_ms=10))
    await turn()
    world.clock.advance(10)
    for _ in range(3):
        await turn()
    assert is_recovering(world, 0)
    assert [each.error_code for each in produced(peer)] == [E.NOT_LEADER_OR_FOLLOWER]
    await until_recovered(world)
    assert world.services.partitions.get("t", 0).log_end_offset == LONG


async def test_records_that_wait_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await killed(LONG)
    monkeypatch.setattr("barnabas.broker.partitions.produce.delayed_produce.PARKED_BYTES_MAX", 100)
    first, second = world.connect(), world.connect()
    first.ask(produce(world, 0))
    second.ask(produce(world, 0))
    assert [each.error_code for each in produced(second)] == [E.NOT_LEADER_OR_FOLLOWER]
    await until_recovered(world)
    assert [each.error_code for each in produced(first)] == [E.NONE]


async def test_a_fetch_waits_no_longer_than_it_would_for_data() -> None:
    world = await killed(LONG)
    peer = world.asking(fetch(world, 0, max_wait_ms=10))
    await turn()
    world.clock.advance(10)
    await turn()
    assert [each.error_code for each in fetched(peer)] == [E.NOT_LEADER_OR_FOLLOWER]
    await until_recovered(world)


@ON_THE_LOOP
async def test_many_partitions_are_recovered_few_at_a_time() -> None:
    sizes = [LONG] * (BEGUN_MAX + 2)
    world = await killed(*sizes)
    before = len(world.files.calls)
    for partition in range(len(sizes)):
        with pytest.raises(StillRecovering):
            world.services.partitions.get("t", partition)
    opened = {call.path for call in world.files.calls[before:]}
    begun = [partition for partition in range(len(sizes)) if any(f"/t-{partition}/" in path for path in opened)]
    assert begun == list(range(BEGUN_MAX))
    await until_recovered(world)
    assert [world.services.partitions.get("t", each).log_end_offset for each in range(len(sizes))] == sizes


async def test_a_topic_may_be_deleted_while_it_is_recovered() -> None:
    world = await killed(LONG)
    peer = world.connect()
    asked = produce(world, 0)
    peer.ask(asked)
    await turn()
    world.services.catalogue.delete_topics(["t"])
    await settle()
    assert [each.error_code for each in produced(peer)] == [E.UNKNOWN_TOPIC_ID]
    assert not len(world.services.partitions.recoveries)
    world.services.catalogue.create_topic("t")
    assert world.services.partitions.get("t", 0).log_end_offset == 0


async def test_a_stop_does_not_wait_for_a_recovery_and_leaves_no_marker() -> None:
    world = await killed(LONG, 1)
    world.asking(fetch(world, 0))
    await turn()
    await world.close()
    assert not has_marker(world)
    again = BrokerWorld(files=world.files)
    with pytest.raises(StillRecovering):
        again.services.partitions.get("t", 0)
    await until_recovered(again)
    assert again.services.partitions.get("t", 0).log_end_offset == LONG
    assert again.services.partitions.get("t", 1).log_end_offset == 1


async def test_a_disk_that_fails_while_a_partition_is_recovered_is_told_who_waits() -> None:
    world = await killed(LONG)
    peer = world.asking(fetch(world, 0))
    await turn()
    world.files.fail("pread", errno.EIO, path="t-0")
    await until_recovered(world)
    assert [each.error_code for each in fetched(peer)] == [E.KAFKA_STORAGE_ERROR]
    world.files.heal()


async def test_retention_waits_for_the_partition_it_recovers_and_closes_it() -> None:
    world = await killed(LONG, LONG)
    await world.broker.start()
    world.clock.advance(30_010)
    assert is_recovering(world, 0)
    assert not is_recovering(world, 1), "one after another"
    for _ in range(2):
        await until_recovered(world)
        world.clock.advance(100)
    await until_recovered(world)
    world.clock.advance(100)
    assert not list(world.services.partitions.open_logs())
    assert not world.broker._directory.members[0].unrecovered
    await world.close()
    assert has_marker(world)


async def test_a_coordinator_is_loading_while_its_log_is_recovered() -> None:
    world = BrokerWorld(topics={"t": 1})
    for offset in range(LONG):
        world.commit_offset(offset)
    world.files.crash("everything")
    world = BrokerWorld(files=world.files)
    assert code_of(world.committed) is E.COORDINATOR_LOAD_IN_PROGRESS
    peer = world.asking(txn_commit("id", (1, 0), "g", 1), 5)
    assert peer.answer().topics[0].partitions[0].error_code == E.COORDINATOR_LOAD_IN_PROGRESS
    for version in range(1, 8):  # as Kafka's OffsetFetchResponse.groupError has it, of a group that is not there, too
        peer.ask(
            OffsetFetchRequest(group_id="5", topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1])]),
            version,
        )
        answer = peer.answer()
        codes = [partition.error_code for topic in answer.topics for partition in topic.partitions]
        expected = (0, [E.COORDINATOR_LOAD_IN_PROGRESS] * 2) if version == 1 else (E.COORDINATOR_LOAD_IN_PROGRESS, [])
        assert (answer.error_code, codes) == expected
    await until_recovered(world)
    world.clock.advance(0)
    assert world.committed() == {0: LONG - 1}


async def test_a_start_after_a_kill_waits_for_the_log_of_transactions() -> None:
    world = BrokerWorld()
    for _ in range(LONG // 2):
        world.services.transactions.init_producer_id(InitRequest("id", 60_000))
    world.files.crash("everything")
    world = BrokerWorld(files=world.files)
    await world.broker.start()
    assert world.services.transactions.describe("id") is not None


async def torn(monkeypatch: pytest.MonkeyPatch) -> BrokerWorld:
    """A broker over a log that ends inside a batch, and counts as too large to be synced on the loop."""
    monkeypatch.setattr("barnabas.storage.recovery.segment_recovery._SYNCED_HERE_BYTES_MAX", 0)
    world = await killed(3)
    file = world.files.open(f"/data/t-0/{0:020d}.log")
    file.truncate(file.size() - 1)
    return world


async def test_a_large_file_is_synced_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await torn(monkeypatch)
    peer = world.asking(fetch(world, 0))
    await peer.until_answered()
    assert [each.high_watermark for each in fetched(peer)] == [2]


async def test_a_sync_that_fails_takes_the_directory_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await torn(monkeypatch)
    world.files.fail("sync", errno.EIO, path="t-0")
    peer = world.asking(fetch(world, 0))
    await peer.until_answered()
    assert [each.error_code for each in fetched(peer)] == [E.KAFKA_STORAGE_ERROR]
    assert world.services.partitions.directory.offline_reason
    with pytest.raises(StorageError):
        await world.close()


async def test_a_topic_may_be_deleted_while_its_log_is_synced(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await torn(monkeypatch)
    with pytest.raises(StillRecovering):
        world.services.partitions.get("t", 0)
    assert world.services.partitions.recoveries.is_syncing
    world.services.catalogue.delete_topics(["t"])
    await world.close()
    assert not world.services.partitions.recoveries.is_syncing


async def syncing_and_waiting(monkeypatch: pytest.MonkeyPatch) -> BrokerWorld:
    """A broker that recovers as many partitions of `t` as it begins, all of which sync, and one more that waits."""
    monkeypatch.setattr("barnabas.storage.recovery.segment_recovery._SYNCED_HERE_BYTES_MAX", 0)
    world = await killed(*[3] * BEGUN_MAX)
    world.services.catalogue.create_topic("waits")
    world.append("waits", b"v")
    world.files.crash("everything")
    world = BrokerWorld(files=world.files)
    for partition in range(BEGUN_MAX):
        file = world.files.open(f"/data/t-{partition}/{0:020d}.log")
        file.truncate(file.size() - 1)
    for partition in range(BEGUN_MAX):
        with pytest.raises(StillRecovering):
            world.services.partitions.get("t", partition)
    with pytest.raises(StillRecovering):
        world.services.partitions.get("waits", 0)
    return world


@ON_THE_LOOP
async def test_queued_partitions_are_recovered_when_all_running_ones_are_deleted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    may_sync = threading.Event()
    run = SyncJob.run

    def held(job: SyncJob) -> None:
        assert may_sync.wait(ANSWER_TIMEOUT_S)
        run(job)

    monkeypatch.setattr(SyncJob, "run", held)
    world = await syncing_and_waiting(monkeypatch)
    await settle()
    world.services.catalogue.delete_topics(["t"])
    await settle()
    may_sync.set()
    await asyncio.wait_for(world.services.partitions.recovered([("waits", 0)], 60_000), ANSWER_TIMEOUT_S)
    assert world.services.partitions.get("waits", 0).log_end_offset == 1


@ON_THE_LOOP
async def test_queued_partitions_are_recovered_when_all_running_ones_fail(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr(SyncJob, "run", fail)
    world = await syncing_and_waiting(monkeypatch)
    await asyncio.wait_for(world.services.partitions.recovered([("waits", 0)], 60_000), ANSWER_TIMEOUT_S)
    assert world.services.partitions.get("waits", 0).log_end_offset == 1
    await until(lambda: not len(world.services.partitions.recoveries))
    for partition in range(BEGUN_MAX):
        with pytest.raises(KafkaError, match="a mistake of ours"):
            world.services.partitions.get("t", partition)
    said = [record for record in caplog.records if record.getMessage() == "the sync of a recovery failed"]
    assert len(said) == BEGUN_MAX
    assert {record.thread for record in said} == {threading.get_ident()}, "a broker in a thread logs by that thread"
    monkeypatch.undo()
