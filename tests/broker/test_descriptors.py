"""Open files: whatever comes and goes a hundred times, as many are open afterwards as before."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from barnabas.broker.catalogue.alterations import Alteration
from barnabas.client.admin.topics import create_topic, delete_topic
from barnabas.client.client import Client
from barnabas.client.consume.consumer import Consumer
from barnabas.client.produce.producer import Producer
from barnabas.storage.errors import FileRemoved
from tests.support.files.memory_files import MemoryFiles
from tests.support.processes.broker import BrokerProcess
from tests.support.waiting import until
from tests.support.worlds.broker import BrokerWorld

ROUNDS = 20
MINUTE_MS = 60_000
DAY_MS = 86_400_000
SET = 0
METADATA = "__cluster_metadata-0"
FIRST = f"{0:020d}.log"


def open_files(world: BrokerWorld) -> list[str]:
    """What is open, once for each time."""
    return sorted(world.files.open_paths.elements())


def append(world: BrokerWorld, topic: str, value: bytes = b"v") -> None:
    world.services.partitions.append(topic, 0, bytearray(world.batch(value)))


async def test_topics_that_come_and_go_leave_no_file_open() -> None:
    world = BrokerWorld()
    await world.broker.start()

    def come_and_go(number: int) -> None:
        world.services.catalogue.create_topic(f"t{number}", 1)
        append(world, f"t{number}")
        world.services.catalogue.delete_topics([f"t{number}"])
        world.clock.advance(2 * MINUTE_MS)

    come_and_go(0)
    before = open_files(world)
    for number in range(1, ROUNDS):
        come_and_go(number)
    await world.broker.thread_is_idle()
    assert open_files(world) == before
    await world.close()


async def test_settings_that_change_leave_no_file_open() -> None:
    world = BrokerWorld()
    world.services.catalogue.create_topic("t", 1)
    append(world, "t")
    before = open_files(world)
    for number in range(ROUNDS):
        world.services.catalogue.alter_configs(2, "t", [Alteration("retention.ms", SET, str(DAY_MS + number))])
        world.services.catalogue.alter_configs(4, "", [Alteration("log.retention.ms", SET, str(DAY_MS + number))])
        append(world, "t")
    assert open_files(world) == before
    await world.close()


async def test_a_catalogue_that_is_cut_short_leaves_no_file_open() -> None:
    world = BrokerWorld({"metadata.log.max.record.bytes.between.snapshots": "1"})
    world.services.catalogue.create_topic("t", 1)
    before = [path for path in open_files(world) if METADATA in path]
    world.services.catalogue.close()
    world.services.catalogue.create_topic("u", 1)
    after = [path for path in open_files(world) if METADATA in path]
    assert (len(before), len(after), before == after) == (1, 1, False)
    await world.close()


async def test_segments_that_are_rolled_and_deleted_leave_no_file_open() -> None:
    world = BrokerWorld()
    await world.broker.start()
    world.services.catalogue.create_topic("t", 1, {"segment.bytes": str(1 << 20), "retention.bytes": str(1 << 20)})

    def roll_and_delete() -> None:
        for _ in range(3):
            append(world, "t", bytes(700_000))
        world.clock.advance(10 * MINUTE_MS)

    roll_and_delete()
    before = len(open_files(world))
    for _ in range(ROUNDS):
        roll_and_delete()
    await world.broker.thread_is_idle()
    assert len(open_files(world)) == before
    await world.close()


async def test_partitions_that_retention_looks_into_leave_no_file_open() -> None:
    files = MemoryFiles()
    first = BrokerWorld(files=files)
    first.services.catalogue.create_topic("t", ROUNDS)
    for partition in range(ROUNDS):
        first.services.partitions.append("t", partition, bytearray(first.batch(b"v")))
    files.crash("everything")
    world = BrokerWorld(files=files)
    await world.broker.start()
    before = open_files(world)
    world.clock.advance(10 * MINUTE_MS)
    assert not world.services.partitions.directory.members[0].unrecovered, "it looked into all of them"
    assert open_files(world) == before
    await world.close()


@pytest.mark.parametrize("end", ["deleted topic", "deleted segment"])
async def test_who_still_reads_what_was_deleted_holds_its_file_until_it_is_removed(end: str) -> None:
    world = BrokerWorld()
    await world.broker.start()
    world.services.catalogue.create_topic("t", 1, {"segment.bytes": str(1 << 20), "retention.bytes": str(1 << 20)})
    for _ in range(3):
        append(world, "t", bytes(700_000))
    log = world.services.partitions.get("t", 0)
    data = log.read(0, 1 << 20, committed=False, force_first_batch=True).data
    assert data is not None
    if end == "deleted topic":
        world.services.catalogue.delete_topics(["t"])
    else:
        assert log.apply_retention(world.clock.now_ms())
    assert len(data.read_all()) > 700_000
    world.clock.advance(10 * MINUTE_MS)
    assert not [path for path in open_files(world) if path.endswith((f"-delete/{FIRST}", f"{FIRST}.deleted"))]
    with pytest.raises(FileRemoved):
        data.read_all()
    await world.close()


async def test_who_waits_for_the_sync_of_a_deleted_topic_leaves_no_file_open() -> None:
    world = BrokerWorld()
    await world.broker.start()
    world.services.catalogue.create_topic("t", 1)
    append(world, "t")
    log = world.services.partitions.get("t", 0)
    synced = world.broker.flush.synced(log, log.log_end_offset)
    world.services.catalogue.delete_topics(["t"])
    await asyncio.wait_for(synced, 30)
    world.clock.advance(2 * MINUTE_MS)
    assert not [path for path in open_files(world) if "-delete" in path]
    await world.close()


def test_clients_that_come_and_go_leave_no_descriptor_to_the_process(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        descriptors = Path(f"/proc/{broker.pid}/fd")

        def come_and_go(number: int) -> None:
            with Client(broker.address) as client:
                create_topic(client, f"t{number}", partitions=2)
                with Producer(client) as producer:
                    producer.send(f"t{number}", b"v", partition=0)
                consumer = Consumer(client)
                consumer.assign({(f"t{number}", 0): 0})
                assert len(consumer.poll()) == 1
                delete_topic(client, f"t{number}")

        come_and_go(0)
        before = len(list(descriptors.iterdir()))
        for number in range(1, ROUNDS):
            come_and_go(number)
        until(lambda: len(list(descriptors.iterdir())) <= before)
