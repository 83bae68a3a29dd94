"""Retention as clients meet it: settings that change, readers in the middle, and a log all of which is too old."""

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.storage.errors import FileRemoved
from barnabas.storage.log.log import PartitionLog
from tests.support.files.log_directories import apply_retention
from tests.support.files.memory_files import MemoryFiles
from tests.support.requests import BY_NAME, alter_config, fetch
from tests.support.worlds.full_disk import FullDisk

NONE = ErrorCode.NONE
TOPIC_RESOURCE = 2
PASS_MS = 310_000  # a retention pass is in it
DELAY_MS = 60_000  # file.delete.delay.ms
RECORDS = 60  # over several segments


@pytest.fixture
async def broker() -> FullDisk:
    broker = await FullDisk({"log.cleaner.enable": "false"}, MemoryFiles(0)).start()  # for it retention would wait
    assert await broker.create("t") is NONE
    for _ in range(RECORDS):
        assert await broker.produce("t") is NONE
    return broker


def log_of(broker: FullDisk) -> PartitionLog:
    return broker.world.services.partitions.get("t", 0)


async def alter(broker: FullDisk, **settings: str) -> None:
    for name, value in settings.items():
        answer = await broker.ask(alter_config(TOPIC_RESOURCE, "t", name.replace("_", "."), value))
        assert answer.responses[0].error_code == NONE


async def fetched(broker: FullDisk, offset: int) -> ErrorCode:
    answer = await broker.ask(fetch(offset=offset), BY_NAME)
    return ErrorCode(answer.responses[0].partitions[0].error_code)


async def test_settings_that_change_while_it_runs_count_with_the_next_pass(broker: FullDisk) -> None:
    log = log_of(broker)
    assert log.segments_count > 3
    await alter(broker, retention_bytes=str(2 << 20))
    await broker.advance(PASS_MS)
    start = log.log_start_offset
    assert 0 < start < RECORDS
    assert 2 << 20 <= log.size < 4 << 20
    assert broker.read("t", start) == broker.acknowledged["t"][start:]
    assert await fetched(broker, start - 1) is ErrorCode.OFFSET_OUT_OF_RANGE
    assert await fetched(broker, start) is NONE

    await alter(broker, retention_bytes="-1")
    await broker.advance(PASS_MS)
    assert log.log_start_offset == start


async def test_where_all_of_a_log_is_too_old_an_empty_segment_is_rolled_and_offsets_go_on(broker: FullDisk) -> None:
    await alter(broker, retention_ms="1000")
    await broker.advance(PASS_MS)
    log = log_of(broker)
    assert (log.log_start_offset, log.log_end_offset, log.segments_count, log.size) == (RECORDS, RECORDS, 1, 0)
    assert await fetched(broker, RECORDS - 1) is ErrorCode.OFFSET_OUT_OF_RANGE
    assert await fetched(broker, RECORDS) is NONE
    assert await broker.produce("t") is NONE
    assert broker.read("t", RECORDS) == broker.acknowledged["t"][RECORDS:]

    await broker.world.close()
    after = await FullDisk(files=broker.files).start()
    assert log_of(after).log_start_offset == RECORDS
    assert after.read("t", RECORDS) == broker.acknowledged["t"][RECORDS:]


async def test_a_reader_of_a_deleted_segment_continues_until_the_delay_is_over(broker: FullDisk) -> None:
    log = log_of(broker)
    reading = log.read(0, 1 << 20, committed=False, force_first_batch=True)
    before = reading.read_all()
    assert await broker.delete_records("t") is NONE
    apply_retention(log, broker.world.clock.now_ms())
    assert log.first_segment_base_offset > 0
    await broker.advance(DELAY_MS - 1_000)
    assert reading.read_all() == before
    await broker.advance(12_000)
    with pytest.raises(FileRemoved):
        reading.read_all()
    assert not [name for name in broker.files.peek_names("/data/t-0") if name.endswith(".deleted")]


@pytest.mark.parametrize(("policy", "goes"), [("compact,delete", True), ("delete", True), ("compact", False)])
async def test_a_log_that_is_compacted_and_deleted_goes_by_retention_one_that_is_only_compacted_does_not(
    broker: FullDisk, policy: str, goes: bool
) -> None:
    await alter(broker, cleanup_policy=policy, retention_ms="1000")
    await broker.advance(PASS_MS)
    assert log_of(broker).log_start_offset == (RECORDS if goes else 0)
