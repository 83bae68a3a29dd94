"""The live part of a page, while it is open: server-sent events, each with the whole part.

A part is sent when it has changed. In between a comment is sent now and then, so that the loss of a peer is noticed.
The clock is the machine's, so that pages are refreshed while the broker's clock is stopped.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.broker.runtime.clock import Clock

LOOK_AGAIN_MS = 1_000
_COMMENT_EVERY = 5  # looks


async def events(look: Callable[[], Awaitable[str]], clock: Clock) -> AsyncGenerator[bytes, None]:
    """Yield the part as it is now, and again whenever it has changed."""
    shown, unchanged = "", 0
    while True:
        part = await look()
        if part != shown:
            shown, unchanged = part, 0
            yield b"".join(b"data: %b\n" % line.encode("utf-8", "replace") for line in part.splitlines()) + b"\n"
        elif (unchanged := unchanged + 1) % _COMMENT_EVERY == 0:
            yield b": still here\n\n"
        await _after(clock, LOOK_AGAIN_MS)


async def _after(clock: Clock, ms: int) -> None:
    over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    timer = clock.call_later(ms, lambda: None if over.done() else over.set_result(None))
    try:
        await over
    finally:
        timer.cancel()
