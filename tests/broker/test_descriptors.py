"""Open files: whatever comes and goes a hundred times, as many are open afterwards as before."""

import asyncio
import os
from pathlib import Path

import pytest

from barnabas.broker.config import BrokerConfig
from barnabas.broker.config.listeners.listeners import Listener
from barnabas.broker.metadata.catalogue import NewTopic
from barnabas.broker.metadata.catalogue.config_alterations import Alteration
from barnabas.broker.network.bound_sockets import BoundAddress
from barnabas.broker.server.data_directories import open_files_max
from barnabas.broker.server.environment import Environment
from barnabas.broker.server.start import start_broker
from barnabas.client.admin.topics import create_topic, delete_topic
from barnabas.client.client import Client
from barnabas.client.consume.consumer import Consumer
from barnabas.client.produce.producer import Producer
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.security.listener_protocols import PLAINTEXT
from barnabas.storage.disk.files import RealFiles
from barnabas.storage.errors import FileRemoved
from tests.support.files.memory_files import MemoryFiles
from tests.support.processes.broker import BrokerProcess
from tests.support.virtual_clock import VirtualClock
from tests.support.waiting import until
from tests.support.worlds.broker import BrokerWorld, settle
from tests.support.worlds.memory_network import MemoryNetwork

ROUNDS = 20
LIMIT = 256
MINUTE_MS = 60_000
DAY_MS = 86_400_000
SET = 0
METADATA = "__cluster_metadata-0"
FIRST = f"{0:020d}.log"


def open_files(world: BrokerWorld) -> list[str]:
    """What is open, once for each time."""
    return sorted(world.files.open_paths.elements())


async def test_topics_that_come_and_go_leave_no_file_open() -> None:
    world = BrokerWorld()
    await world.broker.start()

    async def come_and_go(number: int) -> None:
        world.services.catalogue.create_topic(f"t{number}", 1)
        world.append(f"t{number}", b"v")
        world.services.catalogue.delete_topics([f"t{number}"])
        await world.advance(2 * MINUTE_MS)

    await come_and_go(0)
    before = open_files(world)
    for number in range(1, ROUNDS):
        await come_and_go(number)
    await world.broker.thread_is_idle()
    assert open_files(world) == before


def descriptors() -> list[str]:
    """What this process has open of files and folders, as the kernel tells it; one that is gone ends in `(deleted)`."""
    paths = [entry.path for entry in os.scandir("/proc/self/fd")]
    return sorted(os.path.realpath(path) for path in paths if os.path.isfile(path) or os.path.isdir(path))


async def test_five_hundred_topics_filled_and_deleted_give_every_descriptor_and_the_room_back(tmp_path: Path) -> None:
    clock, data = VirtualClock(), tmp_path / "data"
    environment = Environment(
        clock=clock, machine_clock=clock, stopwatch=lambda: 0.0, files=RealFiles(), network=MemoryNetwork()
    )
    address = Listener(PLAINTEXT, "127.0.0.1", 9092, PLAINTEXT)
    bound = BoundAddress(address, address, [])
    broker = await start_broker(
        BrokerConfig({"log.dirs": str(data)}), [bound], descriptor_limit=LIMIT, environment=environment
    )
    catalogue, partitions = broker.services.catalogue, broker.services.partitions
    catalogue.create_topic("kept", 1)
    batch = bytes(build_batch([NewRecord(None, bytes(1_000), (), clock.now_ms())]))
    partitions.append("kept", 0, bytearray(batch))
    before = descriptors()
    names = [f"t{number}" for number in range(500)]
    catalogue.create_topics([NewTopic(name, 1) for name in names])
    assert descriptors() == before, "a partition has a file open when it is used, not before"
    partitions.lead([(name, 0) for name in names])
    for name in names:
        partitions.append(name, 0, bytearray(batch))
    used = [path for path in descriptors() if path.startswith(f"{data}/t")]
    assert 0 < len(used) == len(set(used)) <= open_files_max(LIMIT), "one for each file in use"
    catalogue.delete_topics(names)
    clock.advance(2 * MINUTE_MS)
    while broker._housekeeping.removals.are_under_way:
        await settle()
    partitions.append("kept", 0, bytearray(batch))  # it may have been closed for others
    assert descriptors() == before
    assert sorted(path.name for path in data.iterdir() if path.is_dir()) == [METADATA, "kept-0"]
    await broker.stop()


async def test_of_five_thousand_partitions_only_those_in_use_cost_a_file_or_a_timer() -> None:
    world = BrokerWorld()
    await world.broker.start()
    await settle()
    before, timers = open_files(world), world.clock.pending_timers()
    world.services.catalogue.create_topic("wide", 5_000)
    for partition in range(3):
        world.append("wide", b"v", partition=partition)
    assert sorted(set(open_files(world)) - set(before)) == [f"/data/wide-{number}/{FIRST}" for number in range(3)]
    world.files.calls.clear()
    world.clock.advance(MINUTE_MS)
    await world.broker.thread_is_idle()
    touched = {call.path.split("/")[2] for call in world.files.calls if call.path.startswith("/data/wide-")}
    assert touched <= {"wide-0", "wide-1", "wide-2"}
    assert world.clock.pending_timers() <= timers


async def test_settings_that_change_leave_no_file_open() -> None:
    world = BrokerWorld(topics={"t": 1})
    world.append("t", b"v")
    before = open_files(world)
    for number in range(ROUNDS):
        world.services.catalogue.alter_configs(2, "t", [Alteration("retention.ms", SET, str(DAY_MS + number))])
        world.services.catalogue.alter_configs(4, "", [Alteration("log.retention.ms", SET, str(DAY_MS + number))])
        world.append("t", b"v")
    assert open_files(world) == before


async def test_a_catalogue_that_is_cut_short_leaves_no_file_open() -> None:
    world = BrokerWorld({"metadata.log.max.record.bytes.between.snapshots": "1"}, topics={"t": 1})
    before = [path for path in open_files(world) if METADATA in path]
    world.services.catalogue.close()
    world.services.catalogue.create_topic("u", 1)
    after = [path for path in open_files(world) if METADATA in path]
    assert (len(before), len(after), before == after) == (1, 1, False)


async def test_segments_that_are_rolled_and_deleted_leave_no_file_open() -> None:
    world = BrokerWorld()
    await world.broker.start()
    world.services.catalogue.create_topic("t", 1, {"segment.bytes": str(1 << 20), "retention.bytes": str(1 << 20)})

    async def roll_and_delete() -> None:
        for _ in range(3):
            world.append("t", bytes(700_000))
        for elapsed_ms in (10 * MINUTE_MS, 2 * MINUTE_MS):  # for retention, and for the delay before files are removed
            await world.advance(elapsed_ms)
            await world.broker.thread_is_idle()

    await roll_and_delete()
    before = len(open_files(world))
    for _ in range(ROUNDS):
        await roll_and_delete()
    assert len(open_files(world)) == before


async def test_partitions_that_retention_looks_into_leave_no_file_open() -> None:
    files = MemoryFiles()
    first = BrokerWorld(files=files, topics={"t": ROUNDS})
    for partition in range(ROUNDS):
        first.append("t", b"v", partition=partition)
    files.crash("everything")
    world = BrokerWorld(files=files)
    await world.broker.start()
    before = open_files(world)
    await world.advance(10 * MINUTE_MS)
    assert not world.services.partitions.directory.members[0].unrecovered, "it looked into all of them"
    assert open_files(world) == before


@pytest.mark.parametrize("end", ["deleted topic", "deleted segment"])
async def test_a_reader_of_a_deleted_log_holds_its_file_until_removal(end: str) -> None:
    world = BrokerWorld()
    await world.broker.start()
    world.services.catalogue.create_topic("t", 1, {"segment.bytes": str(1 << 20), "retention.bytes": str(1 << 20)})
    for _ in range(3):
        world.append("t", bytes(700_000))
    log = world.services.partitions.get("t", 0)
    data = log.read(0, 1 << 20, committed=False, force_first_batch=True).data
    assert data is not None
    if end == "deleted topic":
        world.services.catalogue.delete_topics(["t"])
    else:
        assert log.apply_retention(world.clock.now_ms())
    assert len(data.read_all()) > 700_000
    await world.advance(10 * MINUTE_MS)
    await world.broker.thread_is_idle()
    assert not [path for path in open_files(world) if path.endswith((f"-delete/{FIRST}", f"{FIRST}.deleted"))]
    with pytest.raises(FileRemoved):
        data.read_all()


async def test_a_waiting_sync_of_a_deleted_topic_leaves_no_file_open() -> None:
    world = BrokerWorld()
    await world.broker.start()
    world.services.catalogue.create_topic("t", 1)
    world.append("t", b"v")
    log = world.services.partitions.get("t", 0)
    synced = world.broker.flush.synced(log, log.log_end_offset)
    world.services.catalogue.delete_topics(["t"])
    await asyncio.wait_for(synced, 30)
    await world.advance(2 * MINUTE_MS)
    await world.broker.thread_is_idle()
    assert not [path for path in open_files(world) if "-delete" in path]


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
