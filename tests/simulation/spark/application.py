"""One start of a query: a driver, its workers, and batch after batch, as Spark's micro-batches are.

The model is Spark's part only: who runs which task, who dies, what is tried again, which messages reach commit(). What
tasks, commit() and abort() do is the sink's own code.
"""

import asyncio
from collections.abc import Callable

from pyspark_barnabas.sink import driver as sink_driver
from pyspark_barnabas.sink.failure import SinkFailed
from tests.simulation.history.sink import CommitCall
from tests.simulation.spark.checkpoint import Checkpoint, ConcurrentUpdate
from tests.simulation.spark.executors import Executors, Written
from tests.simulation.spark.python_process import Lost, PythonProcess
from tests.simulation.spark.surroundings import Surroundings
from tests.simulation.world.process import Process

_FRESH = 0.3  # how often commit() runs in a new process
_ALONE = 0.5  # how often the process dies that commits, and not the driver with it
_LOSS = "part of the batch is missing"


class QueryFailed(Exception):
    """Spark stops the query."""


class Application:
    """`ended` says how it ended, and is None before. `is_lost`: the query cannot be gone on with."""

    def __init__(
        self,
        around: Surroundings,
        run_id: str,
        checkpoint: Checkpoint,
        when_news: Callable[[], None],
        *,
        batches: int | None = None,
    ) -> None:
        """when_news: is called when it has ended, and when it stands still.

        batches: how many it does, and then nothing befalls it; or as many as it can.
        """
        self.run_id = run_id
        self.ended: str | None = None
        self.batches_done = 0
        self.is_lost = False
        self._around, self._checkpoint, self._when_news = around, checkpoint, when_news
        self._batches, self._is_calm = batches, batches is not None
        self._dice = around.world.dice(f"spark {run_id}")
        self._driver = Process(around.world, run_id)
        self._driver.when_dead.append(self._driver_died)
        self._executors = Executors(around, run_id, self._driver, self._dice, calm=self._is_calm)
        self._committers: list[PythonProcess] = []

    @property
    def is_frozen(self) -> bool:
        return any(each.is_frozen for each in self._committers)

    @property
    def is_gone(self) -> bool:
        """Whether nothing of it lives any more."""
        return self._driver.is_dead and self._executors.are_gone

    def start(self, is_over: Callable[[], bool]) -> None:
        """Let it run, batch after batch, until it is over."""
        self._driver.run(self._run(is_over))

    def kill(self) -> None:
        """Nothing of it lives on."""
        self._driver.kill()
        self._executors.kill()

    def _driver_died(self) -> None:
        for each in self._committers:
            each.process.kill()
        self._end("the driver died")

    async def _run(self, is_over: Callable[[], bool]) -> None:
        try:
            batch_id = self._checkpoint.next_batch()
            while not is_over() and self.batches_done != self._batches:
                await self._batch(batch_id)
                batch_id += 1
                self.batches_done += 1
                await asyncio.sleep(self._dice.choice([0.0, 0.1, 0.5]))
            self._end("stopped")
        except (QueryFailed, ConcurrentUpdate) as error:
            self._end(f"{type(error).__name__}: {error}")
        self._around.world.later(0, self._driver.kill)

    def _end(self, how: str) -> None:
        if self.ended is None:
            self.ended = how
            self._when_news()

    async def _batch(self, batch_id: int) -> None:
        if not self._checkpoint.is_planned(batch_id):
            self._checkpoint.plan(batch_id)
        written = await self._executors.run(self._checkpoint.batch(batch_id))
        committer = self._committer()
        if not self._is_calm and self._dice.random() < self._around.plan.driver_ends:
            committer.strike(self._dice, commits=True)
        failure = await self._commit(committer, batch_id, [each for each in written if each is not None], len(written))
        if failure is not None:
            await self._abort(batch_id, written)
            raise QueryFailed(failure)
        self._checkpoint.commit(batch_id)

    def _committer(self) -> PythonProcess:
        """In which process commit() runs: often the one that did the last time."""
        known = next((each for each in self._committers if not each.process.is_dead), None)
        if known is not None and self._dice.random() >= _FRESH:
            return known
        if known is not None:
            known.process.kill()
        found = self._around.new_process(f"{self.run_id}c{len(self._committers)}")
        found.when_frozen = self._when_news
        self._committers.append(found)
        return found

    async def _commit(self, committer: PythonProcess, batch_id: int, written: list[Written], tasks: int) -> str | None:
        """Why it could not be, if it could not."""
        if len(written) < tasks:
            return "a task failed"
        for each in written:
            each.rows.note_commit()
        settings, checkpoint = self._around.settings(committer, calm=self._is_calm), self._checkpoint
        messages, offsets = [each.message for each in written], checkpoint.offsets(batch_id)

        def commit() -> None:
            sink_driver.commit(settings, batch_id, messages, query_id=checkpoint.query_id, checkpoint=offsets)

        return await self._call(committer, "commit", batch_id, commit)

    async def _abort(self, batch_id: int, written: list[Written | None]) -> None:
        committer = self._committer()
        settings, query_id = self._around.settings(committer, calm=self._is_calm), self._checkpoint.query_id
        messages = [None if each is None else each.message for each in written]

        def abort() -> None:
            sink_driver.abort(settings, batch_id, messages, query_id=query_id)

        await self._call(committer, "abort", batch_id, abort)

    async def _call(self, committer: PythonProcess, what: str, batch_id: int, job: Callable[[], None]) -> str | None:
        """Let the sink do it beside the driver; why it did not."""
        world = self._around.world
        call = CommitCall(self.run_id, what, self._checkpoint.query_id, batch_id, world.now_us)
        self._around.history.sink.calls.append(call)
        try:
            await committer.run(job, self._driver)
        except (SinkFailed, Lost) as error:
            call.result = str(error)
            self._note_loss(call.result)
            if isinstance(error, Lost) and self._dice.random() >= _ALONE:
                self._driver.die_in_turns(1)
            return call.result
        finally:
            call.ended_us = world.now_us
        call.result = "done"
        return None

    def _note_loss(self, result: str) -> None:
        """The sink says "batch N of query Q was decided by run R (…), but …": then the query is at its end."""
        if _LOSS in result:
            _, batch_id, _, _, query_id, *_ = result.split()
            self._around.history.sink.lost.add((query_id, int(batch_id)))
            self.is_lost = True
