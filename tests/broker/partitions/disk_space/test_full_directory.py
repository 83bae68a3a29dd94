"""A data directory that is full: entered, shown, left, and nothing that was acknowledged is lost on the way."""

import errno
import logging

import pytest

from barnabas.broker.partitions.disk_space.free_space import WAIT_MAX_MS
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.support import requests
from tests.support.files.memory_files import MemoryFiles
from tests.support.worlds.broker import settle, until
from tests.support.worlds.full_disk import CAPACITY, FullDisk

NONE, REFUSED = ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR
AT_ONCE_MS = 1_000  # a few looks
TOPIC_RESOURCE = 2


@pytest.fixture
async def disk() -> FullDisk:
    disk = await FullDisk().start()
    assert await disk.create("a") is NONE
    assert await disk.create("b") is NONE
    return disk


async def test_deleting_a_topic_lets_producers_go_on(disk: FullDisk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    assert await disk.produce("a") is NONE
    assert await disk.fill("b") is REFUSED
    assert disk.is_full
    assert disk.files.used() < CAPACITY  # the reserve is left
    assert await disk.produce("a") is REFUSED
    assert disk.read("b") == disk.acknowledged["b"]

    assert await disk.delete("b") is NONE
    await disk.advance(AT_ONCE_MS)
    assert not disk.is_full
    assert await disk.produce("a") is NONE
    assert disk.read("a") == disk.acknowledged["a"]
    assert len(disk.acknowledged["a"]) == 2
    lines = [record.message for record in caplog.records]
    assert [line.partition(" path")[0] for line in lines] == [
        "data directory is full, producers wait",
        "data directory has room again",
    ]


async def test_growing_operations_are_refused_and_small_ones_continue(disk: FullDisk) -> None:
    await disk.fill("a")
    assert await disk.create("c") is REFUSED
    more = CreatePartitionsTopic(name="a", count=2, assignments=None)
    answer = await disk.ask(CreatePartitionsRequest(topics=[more], timeout_ms=1000, validate_only=False))
    assert answer.results[0].error_code == REFUSED
    answer = await disk.ask(MetadataRequest(topics=[MetadataRequestTopic(name="d")], allow_auto_topic_creation=True), 9)
    assert answer.topics[0].error_code == REFUSED
    assert disk.world.services.catalogue.topics.keys() == {"a", "b"}

    commit = requests.commit("g", 3, "a")
    await disk.ask(commit, 8)
    await disk.advance(100)
    answer = await disk.ask(commit, 8)
    assert answer.topics[0].partitions[0].error_code == NONE
    assert disk.is_full


async def test_deleted_records_and_a_shorter_retention_make_room_at_once(disk: FullDisk) -> None:
    await disk.fill("a")
    assert await disk.delete_records("a") is NONE
    await disk.advance(AT_ONCE_MS)
    assert not disk.is_full

    await disk.fill("b")
    assert disk.is_full
    answer = await disk.ask(requests.alter_config(TOPIC_RESOURCE, "b", "retention.bytes", "1"))
    assert answer.responses[0].error_code == NONE
    await disk.advance(AT_ONCE_MS)
    assert not disk.is_full
    assert await disk.produce("b") is NONE
    end = len(disk.acknowledged["b"])
    assert disk.read("b", end - 1) == disk.acknowledged["b"][-1:]


async def test_records_too_old_by_now_make_room() -> None:
    disk = await FullDisk({"log.retention.ms": "60000"}).start()
    assert await disk.create("a") is NONE
    await disk.fill("a")
    await disk.advance(AT_ONCE_MS)
    assert disk.is_full
    await disk.advance(75_000)
    assert not disk.is_full
    assert await disk.produce("a") is NONE


async def test_it_is_shown(disk: FullDisk) -> None:
    answer = await disk.ask(DescribeLogDirsRequest(topics=None))
    assert 0 < answer.results[0].usable_bytes < CAPACITY
    await disk.fill("a")
    answer = await disk.ask(DescribeLogDirsRequest(topics=None))
    assert answer.results[0].error_code == NONE
    assert answer.results[0].usable_bytes == 0
    assert answer.results[0].total_bytes == CAPACITY
    (reading,) = disk.world.services.disk_space.readings()
    assert reading.is_full
    assert disk.world.services.disk_space.full_reasons == [
        "the data directory /data is full: producers cannot write to it"
    ]
    assert disk.world.broker.unready_reason() is None


async def test_a_start_on_a_full_disk_serves_and_can_be_made_room_on() -> None:
    before = await FullDisk().start()
    assert await before.create("a") is NONE
    await before.fill("a")
    await before.world.close()

    disk = await FullDisk(files=before.files).start()
    assert disk.is_full
    assert disk.read("a") == before.acknowledged["a"]
    disk.sequences = dict(before.sequences)
    assert await disk.produce("a") is REFUSED
    assert await disk.delete_records("a") is NONE
    await disk.advance(AT_ONCE_MS)
    assert await disk.produce("a") is NONE
    assert disk.world.services.partitions.get("a", 0).log_end_offset == disk.sequences["a"]


PLACES = [
    ("pwrite", "/a-0/"),
    ("create", "/a-0/"),
    ("pwrite", "/a-0/00000000000000000000.index"),
    ("pwrite", "/a-0/00000000000000000000.timeindex"),
    ("pwrite", "/a-0/00000000000000000"),
    ("pwrite", ".snapshot"),
    ("pwrite", "leader-epoch-checkpoint"),
    ("create", "leader-epoch-checkpoint"),
    ("pwrite", "recovery-point-offset-checkpoint"),
    ("pwrite", "replication-offset-checkpoint"),
    ("pwrite", "__cluster_metadata"),
    ("pwrite", "__consumer_offsets"),
    ("create", "__consumer_offsets"),
    ("mkdir", "/b-0"),
]


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize(("call", "path"), PLACES)
async def test_wherever_a_call_finds_no_room_nothing_is_lost_and_all_goes_on(
    call: str, path: str, error: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    files = MemoryFiles(0)
    disk = await FullDisk({"offsets.commit.timeout.ms": "1000"}, files).start()
    assert await disk.create("a") is NONE
    assert await disk.create("b") is NONE
    files.fail(call, error, path=path)
    commit = requests.commit("g", 3, "a")
    for count in range(40):
        await disk.produce("a" if count % 4 else "b")
        if count % 10 == 0:
            await disk.ask(commit, 8)
            await disk.advance(2_000)
    await disk.advance(70_000)
    assert await disk.create("c") in (NONE, REFUSED)
    await disk.advance(AT_ONCE_MS)
    await until(lambda: any("data directory is full" in record.message for record in caplog.records))

    files.heal()
    await disk.advance(2 * WAIT_MAX_MS)
    assert not disk.is_full
    for topic in ("a", "b"):
        assert await disk.produce(topic) is NONE
        assert disk.read(topic) == disk.acknowledged[topic]
    await disk.ask(commit, 8)
    await disk.advance(12_000)
    answer = await disk.ask(commit, 8)
    assert answer.topics[0].partitions[0].error_code == NONE
    await disk.world.close()

    after = await FullDisk(files=files).start()
    assert after.world.broker.services.partitions.directory.was_clean
    for topic in ("a", "b"):
        assert after.read(topic) == disk.acknowledged[topic]


async def test_a_quota_that_the_file_system_does_not_tell_of_is_tried_seldom() -> None:
    files = MemoryFiles(0)
    disk = await FullDisk(files=files).start()
    assert await disk.create("a") is NONE
    files.fail("pwrite", errno.EDQUOT)
    assert await disk.produce("a") is REFUSED
    assert disk.is_full
    before = len(files.calls)
    await disk.advance(120_000)
    assert disk.is_full
    tried = [call for call in files.calls[before:] if call.name == "create" and "barnabas-room" in call.path]
    assert 3 <= len(tried) <= 12
    assert not [name for name in files.peek_names("/data") if "barnabas-room" in name]
    files.heal()
    await disk.advance(WAIT_MAX_MS)
    assert await disk.produce("a") is NONE


async def test_of_two_directories_only_the_full_one_refuses() -> None:
    files = MemoryFiles(0)
    disk = await FullDisk({"log.dirs": "/one,/two"}, files).start()
    for topic in ("a", "b"):
        assert await disk.create(topic) is NONE
        assert await disk.produce(topic) is NONE
    directories = disk.world.services.partitions.directory
    home = directories.home("a", 0)
    assert home is not None
    assert directories.home("b", 0) is not home
    files.fail("pwrite", errno.ENOSPC, path=f"{home.path}/")
    assert await disk.produce("a") is REFUSED
    await disk.advance(AT_ONCE_MS)
    assert await disk.produce("b") is NONE
    files.heal()
    await disk.advance(WAIT_MAX_MS)
    assert await disk.produce("a") is NONE
    await settle()
