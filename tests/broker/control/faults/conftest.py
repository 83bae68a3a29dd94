"""A broker in memory whose requests meet faults, one whose disk does, and a whole one for clients."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from barnabas import Barnabas
from barnabas.broker.control.faults.armed import Armed
from barnabas.broker.control.faults.disk_faults import DiskFaults
from barnabas.broker.control.faults.plan.reading import Known, plan_of
from barnabas.broker.control.faults.registry import FaultRegistry
from barnabas.broker.partitions.disk_space.free_space import WAIT_MAX_MS
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.errors import ErrorCode
from tests.support.worlds.faulty_broker import FaultyWorld
from tests.support.worlds.full_disk import FullDisk


@pytest.fixture(scope="module")
def broker() -> Iterator[Barnabas]:
    with Barnabas(in_process=True) as running:
        yield running


@pytest.fixture
async def faulty() -> AsyncIterator[FaultyWorld]:
    """Closed at the end."""
    world = FaultyWorld()
    yield world
    await world.close()


class FaultyDisk(FullDisk):
    """Topics `a` and `b`, and faults of the disk."""

    @classmethod
    async def begun(cls, settings: dict[str, str] | None = None) -> FaultyDisk:
        disk = await cls(settings).start()
        for topic in ("a", "b"):
            assert await disk.create(topic) is ErrorCode.NONE
        return disk

    async def start(self) -> FaultyDisk:
        await super().start()
        broker, loop = self.world.broker, asyncio.get_running_loop()
        self.registry = FaultRegistry(loop, self.world.machine_clock, broker.events)
        self.disk = broker._directory.root.disk
        self.faults = DiskFaults(self.registry, [self.disk], loop)
        return self

    async def ask(self, request: Request, version: int | None = None) -> Any:
        """Also where the answer waits for a sync in a thread."""
        self.peer.ask(request, version)
        return await self.peer.answer_to_come()

    def arm(self, operation: str, do: dict[str, Any], times: Any = 1, **match: Any) -> Armed:
        asked = {"match": {"disk": operation, **match}, "do": do, "times": times}
        (armed,) = self.registry.arm(plan_of(asked, Known(apis={}, nodes=[1], listeners=[])))
        return armed

    async def finds_room(self) -> None:
        await self.advance(WAIT_MAX_MS)
        await self.advance(2_000)
        assert not self.is_full

    async def restarted(self) -> FaultyDisk:
        await self.stop()
        return await FaultyDisk(files=self.files).start()

    async def stop(self) -> None:
        self.registry.close()
        await self.world.close()

    async def stop_offline(self) -> None:
        with pytest.raises(Exception, match="offline"):
            await self.stop()


@pytest.fixture
async def disk() -> AsyncIterator[FaultyDisk]:
    disk = await FaultyDisk.begun()
    yield disk
    await disk.stop()
