"""Faults of the disk: the broker meets them as those of a real one, and nothing is in the way once they are over."""

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from barnabas.broker.faults.armed import Armed
from barnabas.broker.faults.disk_faults import DiskFaults
from barnabas.broker.faults.plan.reading import Known, plan_of
from barnabas.broker.faults.registry import FaultRegistry
from barnabas.broker.room.decisions import WAIT_MAX_MS
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.schema import Request
from barnabas.storage.disk.disk import Disk
from tests.support.worlds.broker import until
from tests.support.worlds.full_disk import FullDisk

NONE, REFUSED = ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR
KNOWN = Known(apis={}, nodes=[1], listeners=[])


class FaultyDisk(FullDisk):
    """Topics `a` and `b`, and faults of the disk."""

    def __init__(self, **settings: str) -> None:
        super().__init__(settings)
        broker = self.world.broker
        loop = asyncio.get_running_loop()
        self.registry = FaultRegistry(loop, self.world.machine_clock, broker.events)
        self.disk: Disk = broker._directory.root.disk
        self.faults = DiskFaults(self.registry, [self.disk], loop)

    async def ask(self, request: Request, version: int | None = None) -> Any:
        """Also where the answer waits for a sync in a thread."""
        self.peer.ask(request, version)
        return await self.peer.answer_to_come()

    def arm(self, match: dict[str, Any], do: dict[str, Any], **more: Any) -> Armed:
        (armed,) = self.registry.arm(plan_of({"match": match, "do": do, **more}, KNOWN))
        return armed


@pytest.fixture
async def disk() -> AsyncIterator[FaultyDisk]:
    disk = await begun()
    yield disk
    disk.registry.close()
    await disk.world.close()


async def begun(**settings: str) -> FaultyDisk:
    disk = FaultyDisk(**settings)
    await disk.start()
    for topic in ("a", "b"):
        assert await disk.create(topic) is NONE
        assert await disk.produce(topic) is NONE
    return disk


async def test_an_append_that_fails_is_answered_and_the_next_one_goes_on(disk: FaultyDisk) -> None:
    armed = disk.arm({"disk": "append", "topic": "a"}, {"error": "EIO"})
    assert await disk.produce("b") is NONE
    assert await disk.produce("a") is REFUSED
    assert await disk.produce("a") is NONE
    assert (armed.chances.matched, armed.chances.fired) == (1, 1)
    assert disk.disk.offline_reason is None
    assert disk.read("a") == disk.acknowledged["a"]
    assert not disk.is_full


async def test_the_nth_append_of_a_partition_fails(disk: FaultyDisk) -> None:
    disk.arm({"disk": "append", "topic": "a", "partition": 0, "nth": 3}, {"error": "EIO"})
    assert [await disk.produce("a") for _ in range(4)] == [NONE, NONE, REFUSED, NONE]


async def test_without_room_the_directory_is_full_until_the_fault_is_taken_back(disk: FaultyDisk) -> None:
    disk.arm({"disk": "append", "topic": "a"}, {"error": "ENOSPC"}, times="always")
    assert await disk.produce("a") is REFUSED
    await disk.advance(1_000)
    assert disk.is_full
    await disk.advance(2 * WAIT_MAX_MS)
    assert disk.is_full, "no other file finds room either"
    assert await disk.produce("b") is REFUSED
    disk.registry.reset()
    await disk.advance(WAIT_MAX_MS)
    await disk.advance(2_000)
    assert not disk.is_full
    assert await disk.produce("a") is NONE
    assert disk.read("a") == disk.acknowledged["a"]


async def test_once_there_is_no_room_a_single_time_and_then_again(disk: FaultyDisk) -> None:
    disk.arm({"disk": "append"}, {"error": "ENOSPC"})
    assert await disk.produce("a") is REFUSED
    await disk.advance(WAIT_MAX_MS)
    await disk.advance(2_000)
    assert not disk.is_full
    assert await disk.produce("a") is NONE


async def test_after_a_failed_sync_the_directory_stays_offline_also_without_the_fault() -> None:
    disk = await begun(**{"log.flush.interval.messages": "1"})
    disk.arm({"disk": "sync", "topic": "a"}, {"error": "EIO"})
    assert await disk.produce("b") is NONE
    assert await disk.produce("a") is REFUSED
    assert "cannot sync" in (disk.disk.offline_reason or "")
    disk.registry.reset()
    assert await disk.produce("b") is REFUSED
    disk.registry.close()
    with pytest.raises(Exception, match="offline"):
        await disk.world.close()


async def test_a_slow_sync_holds_up_who_waits_for_it_until_the_fault_is_taken_back() -> None:
    disk = await begun(**{"log.flush.interval.messages": "1"})
    armed = disk.arm({"disk": "sync", "topic": "a"}, {"delay": "1h"})
    waiting = asyncio.ensure_future(disk.produce("a"))
    await until(lambda: armed.chances.fired == 1)
    assert not waiting.done()
    assert disk.read("b") == disk.acknowledged["b"], "readers go on"
    disk.registry.disarm(armed.name)
    assert await waiting is NONE
    disk.registry.close()
    await disk.world.close()


async def test_in_the_event_loop_no_sync_is_slow(disk: FaultyDisk) -> None:
    armed = disk.arm({"disk": "sync"}, {"delay": "1h"})
    disk.world.services.partitions.get("a", 0)._flusher.flush_now()
    assert armed.chances.matched == 0
    assert threading.current_thread() is threading.main_thread()


async def test_while_nothing_is_armed_the_disk_has_its_own_files(disk: FaultyDisk) -> None:
    own = disk.disk.files
    disk.arm({"disk": "append", "topic": "a"}, {"error": "EIO"})
    assert disk.disk.files is not own
    assert await disk.produce("a") is REFUSED
    await until(lambda: disk.disk.files is own)  # a fault that is over is not in the way
    assert disk.world.broker.room.full_reasons == []
