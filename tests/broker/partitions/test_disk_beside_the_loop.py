"""What takes a disk long is asked of it in threads: syncs, and removing files. Nobody waits for it but who asked."""

import threading
from itertools import pairwise

import pytest

from barnabas.broker.partitions.housekeeping import SEGMENTS_IN_A_TURN
from tests.support.files.memory_files import MemoryFiles
from tests.support.worlds.broker import BrokerWorld, turn, until

REMOVED_MS = 80_000  # after it was given up


class WatchedFiles(MemoryFiles):
    """Notes the slow calls that are made in the thread of the event loop."""

    def __init__(self) -> None:
        super().__init__(0)
        self.on_the_loop: list[str] = []

    def _note(self, call: str) -> None:
        if threading.current_thread() is threading.main_thread():
            self.on_the_loop.append(call)

    def remove(self, path: str) -> None:
        self._note(f"remove {path}")
        super().remove(path)

    def sync_directory(self, path: str) -> None:
        self._note(f"sync {path}")
        super().sync_directory(path)


@pytest.fixture
async def world() -> BrokerWorld:
    """Two partitions of many small segments."""
    world = BrokerWorld(files=WatchedFiles(), topics={"t": 2})
    for partition in range(2):
        log = world.services.partitions.get("t", partition)
        log.config = log.config._replace(segment_bytes=1_000)
        for _ in range(20):
            world.append("t", b"v" * 300, partition=partition)
    await world.broker.start()
    calls_on_the_loop(world).clear()
    return world


def calls_on_the_loop(world: BrokerWorld) -> list[str]:
    assert isinstance(world.files, WatchedFiles)
    return world.files.on_the_loop


async def test_files_are_removed_in_a_thread(world: BrokerWorld) -> None:
    partitions = world.services.partitions
    partitions.delete_records_before("t", 0, 10)
    await world.advance(35_000)  # a retention pass
    assert any(entry.name.endswith(".deleted") for entry in world.files.entries("/data/t-0"))
    world.clock.advance(REMOVED_MS)
    await until(lambda: not any(entry.name.endswith(".deleted") for entry in world.files.entries("/data/t-0")))
    assert [call for call in calls_on_the_loop(world) if call.startswith("sync /data/t-")] == []
    world.services.catalogue.delete_topics(["t"])
    world.clock.advance(REMOVED_MS)
    await until(lambda: not any(entry.name.startswith("t-") for entry in world.files.entries("/data")))
    assert [call for call in calls_on_the_loop(world) if call.startswith("remove /data/t-")] == []


async def test_segments_are_given_up_in_turns(world: BrokerWorld) -> None:
    log = world.services.partitions.get("t", 0)
    while log.segments_count < 2 * SEGMENTS_IN_A_TURN + 3:
        world.append("t", b"v" * 700)
    log.delete_records_before(log.log_end_offset)
    counts = [log.segments_count]
    world.clock.advance(30_000)  # a retention pass
    while log.segments_count > 1:
        counts.append(log.segments_count)
        world.clock.advance(5)  # the pause between two partitions
        await turn()
    assert max(before - after for before, after in pairwise([*counts, 1])) == SEGMENTS_IN_A_TURN
