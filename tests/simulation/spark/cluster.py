"""Who starts the query, again and again: after a failure, after a death, and where a driver only seems to be dead.

So there may be several drivers of one query at a time, or of two queries under one prefix, with the workers of all of
them. When it is over nobody is disturbed any more: what is under way comes to its end, and a last start goes on.
"""

import asyncio
from collections.abc import Callable

from tests.simulation.spark.application import Application
from tests.simulation.spark.checkpoint import Checkpoint
from tests.simulation.spark.surroundings import PREFIX, Surroundings
from tests.simulation.world.process import Process

_LOOK_S = 0.1
_CALM_BATCHES = 2
_CALM_STARTS = 8
"""The network stays slow: where transactions time out after 800 ms, some starts do not get through."""
_CALM_MS = 30_000
"""What a start takes at most, up to its second batch, when nothing is in its way."""


class Cluster:
    """Of one prefix."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._process = Process(around.world, "spark")
        self._dice = around.world.dice("spark")
        self._news = asyncio.Event()
        self._starts = self._queries = 0
        self._applications: list[Application] = []
        self._checkpoint = self._new_checkpoint()
        sink = around.history.sink
        sink.prefix = PREFIX
        sink.timeout_ms = around.plan.timeout_ms if around.plan.timeout_ms < _CALM_MS else None

    def start(self, is_over: Callable[[], bool]) -> asyncio.Task[None]:
        return self._process.run(self._run(is_over))

    async def _run(self, is_over: Callable[[], bool]) -> None:
        while not is_over():
            if self._starts and self._dice.random() < self._around.plan.new_checkpoints:
                self._checkpoint = self._new_checkpoint()
            application = self._begin(is_over)
            await self._until_given_up(application, is_over)
            self._begin_anew_after_loss(application)
            await asyncio.sleep(self._dice.choice([0.02, 0.3, 1.0]))
        await self._come_to_rest()

    async def _until_given_up(self, application: Application, is_over: Callable[[], bool]) -> None:
        """It has ended, or seems to be dead."""
        patience_s = self._dice.uniform(0, 5) if self._dice.random() < self._around.plan.impatience else None
        began_s = self._around.world.now_s()
        while not is_over():
            if application.ended is not None or application.is_frozen:
                return
            if patience_s is not None and self._around.world.now_s() - began_s > patience_s:
                return
            await self._wait(_LOOK_S)

    async def _come_to_rest(self) -> None:
        """The others end by themselves; then a start without misfortunes has to go on from whatever they left."""
        while not all(each.is_gone for each in self._applications):
            await self._wait(_LOOK_S)
        for _ in range(_CALM_STARTS):
            application = self._begin(lambda: False, batches=_CALM_BATCHES)
            began_ms = self._around.world.now_ms()
            while application.ended is None:
                await self._wait(_LOOK_S)
            self._begin_anew_after_loss(application)
            if application.batches_done == _CALM_BATCHES:
                took_ms = self._around.world.now_ms() - began_ms
                assert took_ms <= _CALM_MS, f"{application.run_id} took {took_ms} ms, and nothing was in its way"
                return
        raise AssertionError(f"the query does not go on: {application.ended}")

    def _begin_anew_after_loss(self, application: Application) -> None:
        """What the sink tells people to do."""
        if application.is_lost:
            self._checkpoint = self._new_checkpoint()

    def _begin(self, is_over: Callable[[], bool], *, batches: int | None = None) -> Application:
        name = f"s{self._starts}"
        self._starts += 1
        application = Application(self._around, name, self._checkpoint, self._tell, batches=batches)
        self._applications.append(application)
        application.start(is_over)
        return application

    def _tell(self) -> None:
        self._process.loop.call_soon(self._news.set)

    async def _wait(self, seconds: float) -> None:
        """For news, and no longer than that."""
        self._news.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            pass  # the caller looks again

    def _new_checkpoint(self) -> Checkpoint:
        name = f"q{self._queries}"
        self._queries += 1
        dice = self._around.world.dice(f"source of {name}")
        return Checkpoint(name, self._around.history.sink, dice, rows_max=self._around.plan.rows)

    def kill_all(self) -> None:
        """Nothing of it lives on."""
        for each in self._applications:
            each.kill()
