"""Partitions: opened when asked for, led when written, gone with their topic, synced together, kept by the clock."""

import asyncio
import errno

import pytest

from barnabas.broker.partitions.directory_reconciliation import set_strays_aside
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.errors import StorageError
from barnabas.storage.log.log import PartitionLog
from tests.support.files.memory_files import MemoryFiles
from tests.support.this_thread import HeldThread
from tests.support.worlds.broker import BrokerWorld, code_of, settle
from tests.support.worlds.configs import replace_configs

DAY_MS = 86_400_000


@pytest.fixture
async def world() -> BrokerWorld:
    return BrokerWorld(topics={"t": 2})


async def until_synced(world: BrokerWorld, log: PartitionLog) -> None:
    """Until nothing of the log waits for the disk."""
    await asyncio.wait_for(world.broker.flush.synced(log, log.log_end_offset), 30)


async def test_a_changed_setting_is_worked_out_once_for_all_topics_that_have_no_other(world: BrokerWorld) -> None:
    world.services.catalogue.create_topic("u", 1, {"retention.ms": "5"})
    logs = [world.services.partitions.get(*where) for where in (("t", 0), ("t", 1), ("u", 0))]
    replace_configs(world.services.catalogue, 4, "1", {"message.max.bytes": "80"})
    assert [log.config.max_message_bytes for log in logs] == [80, 80, 80]
    assert [log.config.retention_ms for log in logs] == [7 * DAY_MS, 7 * DAY_MS, 5]
    assert logs[0].config is logs[1].config


@pytest.mark.parametrize(("topic", "partition"), [("missing", 0), ("t", 2), ("t", -1)])
async def test_partitions_missing_in_the_catalogue_are_not_opened(
    world: BrokerWorld, topic: str, partition: int
) -> None:
    assert code_of(lambda: world.services.partitions.get(topic, partition)) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_reading_opens_a_log_and_only_writing_leads_it(world: BrokerWorld) -> None:
    calls = len(world.files.calls)
    world.services.partitions.get("t", 0)
    assert not any("__cluster_metadata" in call.path for call in world.files.calls[calls:])
    announced = world.services.catalogue.current_leader_epoch("t", 0)
    assert world.append("t", b"v") == 0
    assert world.services.partitions.get("t", 0).leader_epoch == announced
    assert world.services.catalogue.current_leader_epoch("t", 0) == announced


async def test_several_are_led_with_one_write_to_the_catalogue(world: BrokerWorld) -> None:
    world.services.catalogue.create_topic("many", 10)
    await world.close()
    world = BrokerWorld(files=world.files)

    def syncs() -> int:
        return sum(call.name == "sync" and "__cluster_metadata" in call.path for call in world.files.calls)

    partitions = world.services.partitions
    partitions.get_led("many", 0)  # the first write of a run is preceded by another
    before = syncs()
    partitions.lead([("many", index) for index in range(10)] + [("missing", 0), ("many", 99)])
    assert syncs() == before + 1
    for index in range(10):
        partitions.get_led("many", index)
    assert syncs() == before + 1
    partitions.lead([("many", index) for index in range(10)])
    assert syncs() == before + 1


async def test_a_deleted_topics_logs_are_gone_and_its_successors_are_new(world: BrokerWorld) -> None:
    world.append("t", b"v")
    world.services.catalogue.delete_topics(["t"])
    with pytest.raises(KafkaError):
        world.services.partitions.get("t", 0)
    world.services.catalogue.create_topic("t")
    assert world.append("t", b"v") == 0
    await world.broker.start()
    await world.advance(120_000)
    await world.broker.thread_is_idle()
    assert not [name for name in world.files.entries("/data") if name.name.endswith("-delete")]


async def test_changed_settings_take_effect_at_once(world: BrokerWorld) -> None:
    world.append("t", b"v")
    replace_configs(world.services.catalogue, 2, "t", {"max.message.bytes": "70"})
    assert code_of(lambda: world.append("t", bytes(100))) is ErrorCode.MESSAGE_TOO_LARGE
    replace_configs(world.services.catalogue, 4, "1", {"message.max.bytes": "80"})
    replace_configs(world.services.catalogue, 2, "t", {})
    with pytest.raises(KafkaError):
        world.append("t", bytes(100))


async def test_one_round_of_syncs_answers_all_waiters(world: BrokerWorld) -> None:
    world.services.catalogue.create_topic("safe", 1, {"flush.messages": "1"})
    world.append("safe", b"v")
    log = world.services.partitions.get("safe", 0)
    await until_synced(world, log)
    calls = len(world.files.calls)
    waiting = []
    for _ in range(10):
        offset = world.append("safe", b"v")
        synced = world.services.partitions.synced("safe", 0, offset + 1)
        assert synced is not None
        waiting.append(synced)
    await asyncio.wait_for(asyncio.gather(*waiting), 30)
    syncs = [call for call in world.files.calls[calls:] if call.name == "sync"]
    assert len(syncs) == 1
    assert log.recovery_point == 11


async def test_without_flush_settings_a_produce_does_not_wait_for_the_disk(world: BrokerWorld) -> None:
    offset = world.append("t", b"v")
    assert world.services.partitions.synced("t", 0, offset + 1) is None


async def test_a_failed_sync_fails_all_waiters(world: BrokerWorld) -> None:
    world.services.catalogue.create_topic("safe", 1, {"flush.messages": "1"})
    world.append("safe", b"v")
    log = world.services.partitions.get("safe", 0)
    waiting = [world.broker.flush.synced(log, 1) for _ in range(3)]
    world.files.fail("sync", errno.EIO)
    for each in waiting:
        with pytest.raises(KafkaError) as refused:
            await asyncio.wait_for(each, 30)
        assert refused.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    with pytest.raises(StorageError):
        await world.close()


async def test_flush_ms_syncs_in_the_background(world: BrokerWorld) -> None:
    world.services.catalogue.create_topic("timed", 1, {"flush.ms": "5000"})
    await world.broker.start()
    world.append("timed", b"v")
    log = world.services.partitions.get("timed", 0)
    await world.advance(4000)
    assert log.recovery_point == 0
    world.clock.advance(3000)
    await until_synced(world, log)
    assert log.recovery_point == 1


async def test_retention_deletes_what_is_old_also_where_nobody_looks() -> None:
    files = MemoryFiles(0)
    first = BrokerWorld(files=files)
    first.services.catalogue.create_topic("t", 1, {"retention.ms": str(DAY_MS)})
    first.append("t", b"v")
    await first.close()
    world = BrokerWorld(files=files)
    world.clock.advance(2 * DAY_MS)
    await world.broker.start()
    await world.advance(40_000)
    assert not world.services.partitions.is_open("t", 0)
    assert world.services.partitions.get("t", 0).log_start_offset == 1


async def test_checkpoints_are_written_by_the_clock(world: BrokerWorld) -> None:
    await world.broker.start()
    world.append("t", b"v")
    world.clock.advance(6_000)
    await world.broker.thread_is_idle()
    checkpoint = world.files.open("/data/replication-offset-checkpoint")
    assert b"t 0 1" in checkpoint.pread(1000, 0)


async def test_a_late_flush_does_not_affect_a_recreated_topic() -> None:
    """A checkpoint and a flush wait in the thread, while the topic they are about is deleted and made again."""
    first = BrokerWorld()
    first.broker._flush_thread = thread = HeldThread()
    first.services.catalogue.create_topic("t", 1)
    await first.broker.start()
    for _ in range(9):
        first.append("t", b"v")
    first.services.partitions.delete_records_before("t", 0, 9)
    first.broker.flush.request(first.services.partitions.get("t", 0))
    await settle()
    first.clock.advance(6_000)
    first.services.catalogue.delete_topics(["t"])
    first.services.catalogue.create_topic("t", 1)
    for _ in range(5):
        first.append("t", b"v")
    assert thread.run_all() == 2
    await settle()

    first.files.crash("everything")
    again = BrokerWorld(files=first.files)
    log = again.services.partitions.get("t", 0)
    assert (log.log_start_offset, log.log_end_offset, log.recovered.notes) == (0, 5, ())


async def test_a_directory_missing_in_the_catalogue_is_set_aside_at_start() -> None:
    """A kill between the two halves of a deletion: the topic is gone, its directory is not."""
    first = BrokerWorld(topics={"t": 1})
    first.append("t", b"v")
    first.files.fail("rename", errno.EIO, path="t-0")
    first.services.catalogue.delete_topics(["t"])
    first.files.heal()
    first.files.crash("everything")
    second = BrokerWorld(files=first.files)
    set_strays_aside(second.services.partitions, second.services.partitions.directory)
    names = [entry.name for entry in second.files.entries("/data")]
    assert "t-0" not in names
    assert any(name.startswith("t-0.") and name.endswith("-stray") for name in names)


async def test_records_dropped_by_recovery_are_reported_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    world = BrokerWorld(topics={"t": 1})
    world.append("t", b"v")
    log = world.services.partitions.get("t", 0)
    world.files.crash("everything")
    path = f"{log.directory.path}/{0:020d}.log"
    file = world.files.open(path)
    file.pwrite(b"torn", file.size())
    file.close()
    again = BrokerWorld(files=world.files)
    with caplog.at_level("WARNING", logger="barnabas.storage"):
        assert again.services.partitions.get("t", 0).log_end_offset == 1
    assert [record.getMessage() for record in caplog.records if "bytes_dropped=4" in record.getMessage()]


async def test_a_failing_disk_is_reported_once_a_minute_and_how_often_it_was_not(
    world: BrokerWorld, caplog: pytest.LogCaptureFixture
) -> None:
    world.append("t", b"v")
    world.files.fail("pwrite", errno.EIO)
    for seconds in (0, 30, 29, 1):
        world.clock.advance(seconds * 1000)
        for _ in range(100):
            assert code_of(lambda: world.append("t", b"v")) is ErrorCode.KAFKA_STORAGE_ERROR
    first, second = [record.message for record in caplog.records if record.levelname == "ERROR"]
    assert "Input/output error" in first
    assert "not_logged" not in first
    assert second.endswith("not_logged=299")
    world.files.heal()
