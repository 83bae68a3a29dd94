"""How long the turns of the event loop take, in processor time of this thread."""

from __future__ import annotations

import asyncio
import gc
from time import thread_time
from types import TracebackType


class Turns:
    """Measures each turn of the loop while it is entered, without collections of garbage."""

    def __init__(self) -> None:
        self.longest_ms = 0.0

    def __enter__(self) -> Turns:
        gc.disable()
        self._is_on = True
        self._begun = thread_time()
        asyncio.get_running_loop().call_soon(self._turn)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._turn()
        self._is_on = False
        gc.enable()

    def _turn(self) -> None:
        if self._is_on:
            now = thread_time()
            self.longest_ms = max(self.longest_ms, (now - self._begun) * 1000)
            self._begun = now
            asyncio.get_running_loop().call_soon(self._turn)
