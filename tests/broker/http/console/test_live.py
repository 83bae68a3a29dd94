"""A page that stays open is sent its live part again, and only that, when it has changed."""

import asyncio
import gc
import logging
import tracemalloc
from collections.abc import AsyncGenerator

from barnabas.broker.http.console.live import LOOK_AGAIN_MS, events
from tests.support.console.world import Console
from tests.support.inspected_broker import Inspected
from tests.support.virtual_clock import VirtualClock
from tests.support.worlds.broker import settle

HELD_BYTES_MAX = 50_000  # one part has some thousand


async def test_the_live_part_of_a_page_can_be_had_alone() -> None:
    world = Inspected()
    console = Console(world)
    answer = await console.client.get("/console/transactions", headers={"x-part": "live"})
    assert answer.text.lstrip().startswith('<dl class="figures">')
    assert "<html" not in answer.text


async def test_a_part_is_sent_when_it_has_changed_and_a_comment_now_and_then() -> None:
    clock = VirtualClock()
    shown = "a\nb"

    async def look() -> str:
        return shown

    async def coming() -> bytes:
        return await anext(parts)

    async def after(looks: int) -> bytes:
        waiting = asyncio.ensure_future(coming())
        for _ in range(looks):
            await settle()
            assert not waiting.done()
            clock.advance(LOOK_AGAIN_MS)
        await settle()
        return waiting.result()

    parts = events(look, clock)
    assert await coming() == b"data: a\ndata: b\n\n"
    assert await after(5) == b": still here\n\n"
    shown = "c"
    assert await after(1) == b"data: c\n\n"
    await parts.aclose()


async def test_a_page_that_is_looked_at_for_long_holds_no_more_than_at_first() -> None:
    world = Inspected(topics={"orders": 1})
    await world.begin("payments", ("orders", 0))
    console = Console(world)

    async def look() -> str:
        world.clock.advance(1_000)
        answer = await console.client.get("/console/transaction?id=payments", headers={"x-part": "live"})
        return answer.text

    async def looked_at(times: int) -> int:
        """What is held then, in bytes."""
        for _ in range(times):
            coming = asyncio.ensure_future(_next(parts))
            while not coming.done():
                await settle()
                clock.advance(LOOK_AGAIN_MS)
            assert coming.result().startswith(b"data: ")
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    clock = VirtualClock()
    parts = events(look, clock)
    logging.disable()  # pytest keeps each line, if an earlier test has set a logger to DEBUG
    tracemalloc.start()
    try:
        before = await looked_at(30)
        assert await looked_at(100) - before < HELD_BYTES_MAX
    finally:
        tracemalloc.stop()
        logging.disable(logging.NOTSET)
        await parts.aclose()
    assert clock.pending_timers() == 0


async def _next(parts: AsyncGenerator[bytes, None]) -> bytes:
    return await anext(parts)
