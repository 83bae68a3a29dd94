"""DescribeLogDirs over a data directory in memory: sizes without opening anything, filters, versions, a dead disk."""

import errno
from typing import Any

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from barnabas.protocol.registry import ApiKey
from tests.support.files.memory_files import VOLUME_BYTES
from tests.support.worlds.broker import BrokerWorld

VERSIONS = range(ApiKey.DESCRIBE_LOG_DIRS.min_version, ApiKey.DESCRIBE_LOG_DIRS.max_version + 1)
ROOM_SINCE = 4


@pytest.fixture
async def world() -> BrokerWorld:
    return BrokerWorld(topics={"t": 3, "unused": 1})


async def describe(world: BrokerWorld, topics: dict[str, list[int]] | None, version: int | None = None) -> Any:
    """The one directory of the answer."""
    asked = None if topics is None else [DescribableLogDirTopic(topic=t, partitions=p) for t, p in topics.items()]
    answer = await world.ask(DescribeLogDirsRequest(topics=asked), version)
    assert answer.error_code == ErrorCode.NONE
    (directory,) = answer.results
    return directory


def sizes(directory: Any) -> dict[tuple[str, int], int]:
    for each in (partition for topic in directory.topics for partition in topic.partitions):
        assert (each.offset_lag, each.is_future_key) == (0, False)
    return {
        (topic.name, partition.partition_index): partition.partition_size
        for topic in directory.topics
        for partition in topic.partitions
    }


def append(world: BrokerWorld, partition: int, *values: bytes) -> int:
    """Append one batch; its size in bytes."""
    world.append("t", *values, partition=partition)
    return len(world.batch(*values))


@pytest.mark.parametrize("version", VERSIONS)
async def test_every_version_tells_the_sizes_of_all_partitions(world: BrokerWorld, version: int) -> None:
    size = append(world, 1, b"one") + append(world, 1, b"another", b"two")
    directory = await describe(world, None, version)
    assert (directory.error_code, directory.log_dir) == (ErrorCode.NONE, "/data")
    assert sizes(directory) == {("t", 0): 0, ("t", 1): size, ("t", 2): 0, ("unused", 0): 0}
    usable = VOLUME_BYTES - world.files.used() - world.config.integer("barnabas.log.dir.reserved.bytes")
    room = (VOLUME_BYTES, usable) if version >= ROOM_SINCE else (-1, -1)
    assert (directory.total_bytes, directory.usable_bytes, directory.is_cordoned) == (*room, False)


async def test_partitions_that_were_not_used_in_this_run_stay_closed(world: BrokerWorld) -> None:
    size = append(world, 1, b"x" * 1000)
    await world.close()
    again = BrokerWorld(files=world.files)
    again.files.calls.clear()
    assert sizes(await describe(again, {"t": [1]})) == {("t", 1): size}
    assert again.services.partitions.directory.members[0].logs == {}
    assert {call.name for call in again.files.calls} == {"entries", "stat", "volume"}


async def test_many_partitions_let_others_have_their_turn(world: BrokerWorld) -> None:
    world.services.catalogue.create_topic("wide", 250)
    asking = world.asking(DescribeLogDirsRequest(topics=None))
    assert asking.answers() == [], "a slice is 100 partitions, and there are 254"
    await asking.until_answered()
    assert len(sizes(asking.answer().results[0])) == 254


@pytest.mark.parametrize("failing", ["entries", "stat", "volume"])
async def test_a_directory_that_cannot_be_read_says_so_and_nothing_else(world: BrokerWorld, failing: str) -> None:
    append(world, 0, b"x")
    world.files.fail(failing, errno.EIO)
    directory = await describe(world, None)
    world.files.heal()
    assert (directory.error_code, directory.log_dir) == (ErrorCode.KAFKA_STORAGE_ERROR, "/data")
    assert (directory.topics, directory.total_bytes, directory.usable_bytes) == ([], -1, -1)


async def test_a_directory_that_went_offline_reports_it(world: BrokerWorld) -> None:
    disk = world.services.partitions.directory.root.disk
    disk.go_offline("a sync failed")
    directory = await describe(world, {})
    disk.offline_reason = None  # so that the broker can be stopped
    assert directory.error_code == ErrorCode.KAFKA_STORAGE_ERROR
