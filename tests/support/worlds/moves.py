"""What tests of moves between data directories do: a broker with two of them, and a topic t with one partition."""

import asyncio

from barnabas.broker.partitions.opening.recoveries import StillRecovering
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from barnabas.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from barnabas.storage.log.log import PartitionLog
from tests.support.files.memory_files import MemoryFiles
from tests.support.this_thread import HeldThread
from tests.support.worlds.broker import BrokerWorld, settle


def world_of(files: MemoryFiles | None = None, **settings: str) -> BrokerWorld:
    named = {key.replace("_", "."): value for key, value in settings.items()}
    return BrokerWorld({"log.dirs": "/one,/two", "log.segment.bytes": "1048576", **named}, files)


def append(world: BrokerWorld, count: int = 1, value: bytes = b"v", topic: str = "t") -> None:
    for _ in range(count):
        world.services.partitions.append(topic, 0, bytearray(world.batch(value)))


async def filled(count: int = 0, value: bytes = b"v", *, runs: bool = False) -> BrokerWorld:
    """A broker with so many records in t-0. runs: its housekeeping, too."""
    world = world_of()
    if runs:
        await world.broker.start()
    world.services.catalogue.create_topic("t", 1)
    append(world, count, value)
    return world


async def ask(world: BrokerWorld, path: str, topic: str = "t", partition: int = 0) -> ErrorCode:
    wish = AlterReplicaLogDir(path=path, topics=[AlterReplicaLogDirTopic(name=topic, partitions=[partition])])
    peer = world.connect()
    peer.ask(AlterReplicaLogDirsRequest(dirs=[wish]))
    await settle()
    return ErrorCode(peer.answer().results[0].partitions[0].error_code)


async def told(world: BrokerWorld) -> dict[str, list[tuple[str, int, bool]]]:
    """(topic, partition, whether it is a copy) by directory."""
    peer = world.connect()
    peer.ask(DescribeLogDirsRequest(topics=None))
    await settle()
    return {
        each.log_dir: [(row.name, it.partition_index, it.is_future_key) for row in each.topics for it in row.partitions]
        for each in peer.answer().results
    }


def elsewhere(world: BrokerWorld) -> str:
    """The directory that t-0 is not in."""
    home = world.services.partitions.directory.home("t", 0)
    assert home is not None
    return "/two" if home.path == "/one" else "/one"


def held() -> HeldThread:
    """The thread that copies, which does nothing until a test lets it."""
    thread = HeldThread()
    asyncio.get_running_loop().set_default_executor(thread)
    return thread


async def done(world: BrokerWorld) -> None:
    for _ in range(1_000):
        if not world.services.moves.under_way():
            return
        await settle()
        world.clock.advance(5)
    raise AssertionError("the move does not end")


async def removed(world: BrokerWorld, thread: HeldThread) -> None:
    """Unused directories go, in the thread that does nothing until a test lets it."""
    world.clock.advance(120_000)
    await settle()
    while thread.run_all():
        await settle()


async def opened(world: BrokerWorld) -> PartitionLog:
    while True:
        try:
            return world.services.partitions.get("t", 0)
        except StillRecovering:
            await settle()


def directories_of(world: BrokerWorld, path: str) -> list[str]:
    return sorted(entry.name for entry in world.files.entries(path) if entry.name.startswith("t-0"))
