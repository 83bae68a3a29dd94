"""A broker in memory that dies when the power is cut and is started again over what is left, time going on.

Spoken to in requests over a connection, as clients do. `ask` raises PowerCut when the broker died over the request, or
had died before; then `boot` starts the next run, which finishes what has to be finished before it lets anybody in.
"""

from __future__ import annotations

import asyncio
from typing import Any

from barnabas.protocol.schema import Request
from tests.support.files.memory_files import MemoryFiles, PowerCut, Survival
from tests.support.this_thread import InThisThread
from tests.support.worlds.broker import BrokerWorld, Peer, settle

_ANSWER_STEPS = 2_000
_STEP_MS = 5


class MortalBroker:
    """`settings` are the broker's; what `survival` says is left of unsynced data after a death."""

    world: BrokerWorld

    def __init__(self, settings: dict[str, str], survival: Survival) -> None:
        self.files = MemoryFiles(0)
        self.deaths = 0
        self.cuts: list[int] = []
        """After how many changes of the disk each of the next runs dies, the present one excepted."""
        self._settings = settings
        self._survival = survival
        self._now_ms = 0
        self._cut: PowerCut | None = None

    async def boot(self) -> None:
        """Start a run, over what the one before left if there was one; and the next, if this one dies at its start."""
        while True:
            if self._cut is not None:
                self.deaths += 1
                self.files.crash(self._survival)
                if self.cuts:
                    self.files.cut_power_at(self.files.changes_made + self.cuts.pop(0))
            self._cut = None
            try:
                await self._start()
            except PowerCut as cut:
                self._cut = cut
            if self._cut is None:
                break
        self._peer: Peer = self.world.connect()

    async def _start(self) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._on_exception)
        at_once = InThisThread()
        loop.set_default_executor(at_once)
        self.world = BrokerWorld(self._settings, self.files)
        self.world.broker._flush_thread = at_once
        self.world.clock.advance(max(0, self._now_ms - self.world.clock.now_ms()))
        starting = loop.create_task(self.world.broker.start())
        for _ in range(_ANSWER_STEPS):
            await settle()
            if self._cut is not None:
                starting.cancel()
                return
            if starting.done():
                return starting.result()
            self.world.clock.advance(_STEP_MS)
        raise AssertionError("the broker does not start")

    async def ask(self, request: Request, version: int) -> Any:
        """The answer; the clock moves while it is waited for."""
        try:
            self._peer.ask(request, version)
        except PowerCut as cut:
            self._die(cut)
        for _ in range(_ANSWER_STEPS):
            if self._cut is not None:
                raise self._cut
            answers = self._peer.answers()
            if answers:
                return answers[0]
            await self.advance(_STEP_MS)
        raise AssertionError(f"no answer to {request}")

    async def advance(self, delay_ms: float) -> None:
        """Let time pass; PowerCut if the power is cut meanwhile."""
        try:
            self.world.clock.advance(delay_ms)
        except PowerCut as cut:
            self._die(cut)
        await settle()
        if self._cut is not None:
            raise self._cut

    def now_ms(self) -> int:
        return self.world.clock.now_ms()

    async def stop(self) -> None:
        """A clean stop."""
        await self.world.close()

    def _die(self, cut: PowerCut) -> None:
        """The clock stands still from now on; whatever else this run does, the disk takes no more of it."""
        self._cut = cut
        self._now_ms = self.world.clock.now_ms()

    def _on_exception(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """The power may be cut in a callback; everything else is a bug."""
        error = context.get("exception")
        if isinstance(error, PowerCut):
            self._die(error)
        else:
            loop.default_exception_handler(context)
