"""Faults of the disk: the broker meets them as those of a real one, and nothing is in the way once they are over."""

import asyncio
import threading

from barnabas.broker.partitions.disk_space.free_space import WAIT_MAX_MS
from barnabas.protocol.errors import ErrorCode
from tests.broker.control.faults.conftest import FaultyDisk
from tests.support.worlds.broker import until

NONE, REFUSED = ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR
SYNCED = {"log.flush.interval.messages": "1"}
EIO, ENOSPC = {"error": "EIO"}, {"error": "ENOSPC"}


async def test_an_append_that_fails_is_answered_and_the_next_one_goes_on(disk: FaultyDisk) -> None:
    armed = disk.arm("append", EIO, topic="a")
    assert await disk.produce("b") is NONE
    assert await disk.produce("a") is REFUSED
    assert await disk.produce("a") is NONE
    assert (armed.chances.matched, armed.chances.fired) == (1, 1)
    assert disk.disk.offline_reason is None
    assert disk.read("a") == disk.acknowledged["a"]
    assert not disk.is_full


async def test_the_nth_append_of_a_partition_fails(disk: FaultyDisk) -> None:
    disk.arm("append", EIO, topic="a", partition=0, nth=3)
    assert [await disk.produce("a") for _ in range(4)] == [NONE, NONE, REFUSED, NONE]


async def test_without_room_the_directory_is_full_until_the_fault_is_taken_back(disk: FaultyDisk) -> None:
    disk.arm("append", ENOSPC, topic="a", times="always")
    assert await disk.produce("a") is REFUSED
    await disk.advance(1_000)
    assert disk.is_full
    await disk.advance(2 * WAIT_MAX_MS)
    assert disk.is_full, "no other file finds room either"
    assert await disk.produce("b") is REFUSED
    disk.registry.reset()
    await disk.finds_room()
    assert await disk.produce("a") is NONE
    assert disk.read("a") == disk.acknowledged["a"]


async def test_once_there_is_no_room_a_single_time_and_then_again(disk: FaultyDisk) -> None:
    disk.arm("append", ENOSPC)
    assert await disk.produce("a") is REFUSED
    await disk.finds_room()
    assert await disk.produce("a") is NONE


async def test_after_a_failed_sync_the_directory_stays_offline_also_without_the_fault() -> None:
    disk = await FaultyDisk.begun(SYNCED)
    disk.arm("sync", EIO, topic="a")
    assert await disk.produce("b") is NONE
    assert await disk.produce("a") is REFUSED
    assert "cannot sync" in (disk.disk.offline_reason or "")
    disk.registry.reset()
    assert await disk.produce("b") is REFUSED
    await disk.stop_offline()


async def test_a_slow_sync_holds_up_who_waits_for_it_until_the_fault_is_taken_back() -> None:
    disk = await FaultyDisk.begun(SYNCED)
    assert await disk.produce("b") is NONE
    armed = disk.arm("sync", {"delay": "1h"}, topic="a")
    waiting = asyncio.ensure_future(disk.produce("a"))
    await until(lambda: armed.chances.fired == 1)
    assert not waiting.done()
    assert disk.read("b") == disk.acknowledged["b"], "readers go on"
    disk.registry.disarm(armed.name)
    assert await waiting is NONE
    await disk.stop()


async def test_in_the_event_loop_no_sync_is_slow(disk: FaultyDisk) -> None:
    armed = disk.arm("sync", {"delay": "1h"})
    disk.world.services.partitions.get("a", 0)._flusher.flush_now()
    assert armed.chances.matched == 0
    assert threading.current_thread() is threading.main_thread()


async def test_while_nothing_is_armed_the_disk_has_its_own_files(disk: FaultyDisk) -> None:
    own = disk.disk.files
    disk.arm("append", EIO, topic="a")
    assert disk.disk.files is not own
    assert await disk.produce("a") is REFUSED
    await until(lambda: disk.disk.files is own)  # a fault that is over is not in the way
    assert disk.world.broker.disk_space.full_reasons == []
