"""A partition whose directory is gone: clients are refused until its topic is deleted; rows of others are forgotten."""

import logging

import pytest

from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.errors import KafkaError
from tests.support.files.memory_files import MemoryFiles
from tests.support.worlds.broker import BrokerWorld
from tests.support.worlds.killed_partitions import fetch, fetched, produce, produced
from tests.support.worlds.moves import world_of


def remove(files: MemoryFiles, path: str) -> None:
    for name in files.peek_names(path):
        files.remove(f"{path}/{name}")
    files.rmdir(path)


async def stopped(world: BrokerWorld, topics: int = 1) -> MemoryFiles:
    for number in range(topics):
        world.services.catalogue.create_topic("t" * (number + 1), 2)
        for partition in range(2):
            for _ in range(3):
                world.services.partitions.append("t" * (number + 1), partition, bytearray(world.batch(b"v")))
    await world.close()
    return world.files


async def test_a_partition_without_its_directory_is_refused_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    files = await stopped(BrokerWorld())
    remove(files, "/data/t-0")
    for _ in range(2):
        world = BrokerWorld(files=files)
        await world.broker.start()
        peer = world.connect()
        for _ in range(2):
            await peer.put(fetch(world, 0, 1))
            assert [each.error_code for each in fetched(peer)] == [E.KAFKA_STORAGE_ERROR, E.NONE]
            await peer.put(produce(world, 0, 1))
            assert [each.error_code for each in produced(peer)] == [E.KAFKA_STORAGE_ERROR, E.NONE]
        lines = [record.message for record in caplog.records]
        assert [each.split(" ")[0] for each in lines] == ["partitions", "could"], lines
        assert "first=t-0" in lines[0]
        assert "/data/t-0: the directory is missing" in lines[1]
        caplog.clear()
        assert "t-0" not in files.peek_names("/data")
        await world.close()


async def test_a_deleted_topic_can_be_recreated() -> None:
    files = await stopped(BrokerWorld())
    remove(files, "/data/t-0")
    world = BrokerWorld(files=files)
    with pytest.raises(KafkaError, match="is missing"):
        world.services.partitions.get("t", 0)
    world.services.catalogue.delete_topics(["t"])
    world.services.catalogue.create_topic("t", 2)
    files.crash("everything")
    world = BrokerWorld(files=files)
    await world.broker.start()
    assert world.services.partitions.get("t", 0).log_end_offset == 0


async def test_rows_of_topics_that_there_are_not_are_dropped_at_the_start() -> None:
    files = await stopped(BrokerWorld(), topics=2)
    world = BrokerWorld(files=files)
    remove(files, "/data/tt-1")  # as a Kafka may leave it that was killed
    world.services.catalogue.delete_topics(["tt"])
    points = world.services.partitions.directory.members[0].checkpoints
    points._recovery_points.update({("tt", 1): 3})
    points.write()
    files.crash("everything")
    world = BrokerWorld(files=files)
    await world.broker.start()
    world.services.catalogue.create_topic("tt", 2)
    files.crash("everything")
    world = BrokerWorld(files=files)
    await world.broker.start()
    assert world.services.partitions.get("tt", 1).log_end_offset == 0


@pytest.mark.parametrize("place", ["/one", "/two"])
async def test_of_several_directories_the_one_that_misses_it_refuses(place: str) -> None:
    files = await stopped(world_of())
    (name,) = (name for name in ("t-0", "t-1") if name in files.peek_names(place))
    remove(files, f"{place}/{name}")
    world = world_of(files)
    await world.broker.start()
    with pytest.raises(KafkaError, match=f"{place}/{name}: the directory is missing"):
        world.services.partitions.get("t", int(name[-1]))
