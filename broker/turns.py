"""Letting others have their turn in the middle of something long."""

from __future__ import annotations

from asyncio import get_running_loop
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.broker.clock import Clock


async def let_others_run(clock: Clock) -> None:
    """Go on when everything that is due now has been done."""
    turn = get_running_loop().create_future()
    clock.call_later(0, lambda: None if turn.done() else turn.set_result(None))
    await turn
