"""The workers of one start of a query, and the tasks in them: which are tried again, run twice, or lost.

A worker runs one task at a time. What becomes of an attempt the driver hears over the network; of an attempt that is
not waited for any more it hears, too, and takes no notice.
"""

import asyncio
import itertools
import random
from collections.abc import Sequence
from typing import NamedTuple

from pyspark_barnabas.commit.messages import Message, Prepared
from pyspark_barnabas.sink import task as sink_task
from pyspark_barnabas.sink.encoding.plain_rows import PlainEncoder
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import TaskFacts
from tests.simulation.history.sink import Attempt, BatchRows
from tests.simulation.spark.python_process import Lost, PythonProcess
from tests.simulation.spark.rows import AttemptRows
from tests.simulation.spark.surroundings import Surroundings
from tests.simulation.world.process import Process

_FAILURES_MAX = 4  # spark.task.maxFailures
_ATTEMPTS_APART_S = 0.05
_TWICE_AFTER_S = 0.3
_LIVE_ON_MS = (0, 0, 300, 4_000)

sink_task.encoder_class = lambda: PlainEncoder  # also where numpy is installed: the same seed is the same run


class Written(NamedTuple):
    """What a task says, and what it wrote."""

    message: Message
    rows: AttemptRows


class Executors:
    """Of one start of a query, by its run id."""

    def __init__(self, around: Surroundings, run_id: str, driver: Process, dice: random.Random, *, calm: bool) -> None:
        """calm: nothing befalls them."""
        self._around, self._run_id, self._driver, self._dice, self._is_calm = around, run_id, driver, dice, calm
        self._idle: list[PythonProcess] = []
        self._workers: list[PythonProcess] = []
        self._worker_numbers, self._task_attempts = itertools.count(), itertools.count()
        self._unheard: list[asyncio.Task[Written | None]] = []
        driver.when_dead.append(self._outlive_the_driver)

    @property
    def are_gone(self) -> bool:
        """Whether no worker lives any more."""
        return all(each.process.is_dead for each in self._workers)

    def kill(self) -> None:
        for each in self._workers:
            each.process.kill()

    def _outlive_the_driver(self) -> None:
        """For a while some go on, and write what nobody will hear of."""
        for each in self._workers:
            self._around.world.later(self._dice.choice(_LIVE_ON_MS) * 1000, each.process.kill)

    async def run(self, batch: BatchRows) -> list[Written | None]:
        """What each task wrote, None for one that failed for good. Which rows a task gets is chance."""
        shares: list[list[int]] = [[] for _ in range(self._around.tasks)]
        for row in range(batch.rows):
            self._dice.choice(shares).append(row)
        if self._is_calm:
            await asyncio.gather(*self._unheard)
        return list(await asyncio.gather(*[self._task(batch, number, rows) for number, rows in enumerate(shares)]))

    async def _task(self, batch: BatchRows, partition: int, rows: Sequence[int]) -> Written | None:
        """Of whichever of its runs is over first; one beside it goes on, and nobody listens."""
        first = self._driver.loop.create_task(self._tries(batch, partition, rows))
        if self._is_calm or self._dice.random() >= self._around.plan.twice:
            return await first
        await asyncio.wait([first], timeout=self._dice.uniform(0, _TWICE_AFTER_S))
        if first.done():
            return first.result()
        second = self._driver.loop.create_task(self._tries(batch, partition, rows))
        await asyncio.wait([first, second], return_when=asyncio.FIRST_COMPLETED)
        winner, loser = (first, second) if first.done() else (second, first)
        self._unheard.append(loser)
        return winner.result()

    async def _tries(self, batch: BatchRows, partition: int, rows: Sequence[int]) -> Written | None:
        for attempt_number in range(_FAILURES_MAX):
            written = await self._attempt(batch, partition, rows, attempt_number)
            if written is not None:
                return written
            await asyncio.sleep(_ATTEMPTS_APART_S)
        return None

    async def _attempt(
        self, batch: BatchRows, partition: int, rows: Sequence[int], attempt_number: int
    ) -> Written | None:
        around, worker = self._around, self._idle.pop() if self._idle else self._new_worker()
        task_attempt = next(self._task_attempts)
        name = f"{self._run_id}.{task_attempt}"
        attempt = Attempt(worker.process.name, name, batch, partition, around.world.now_us)
        around.history.sink.attempts.append(attempt)
        facts = TaskFacts(batch.query_id, self._run_id, batch.batch_id, partition, attempt_number, task_attempt)
        written = AttemptRows(around.world, around.history, attempt, rows, around.topic)
        slow_s, row_dice = 0.0 if self._is_calm else around.plan.slow_s, around.world.dice(f"rows of {name}")
        given = written.give(worker, around.partitions_of(partition), row_dice, slow_s)
        if not self._is_calm and self._dice.random() < around.plan.worker_ends:
            worker.strike(self._dice, commits=False)
        try:
            settings = around.settings(worker, calm=self._is_calm)
            message = await worker.run(lambda: sink_task.write(settings, facts, given), self._driver)
        except (SinkFailed, Lost) as error:
            attempt.result = str(error)
            written.note_end(is_prepared=False)
            return None
        else:
            _note(attempt, message, around.world.now_us)
            written.note_end(is_prepared=isinstance(message, Prepared))
            return Written(message, written)
        finally:
            worker.spare()
            if not worker.process.is_dead:
                self._idle.append(worker)

    def _new_worker(self) -> PythonProcess:
        worker = self._around.new_process(f"{self._run_id}w{next(self._worker_numbers)}")
        self._workers.append(worker)
        return worker


def _note(attempt: Attempt, message: Message, now_us: int) -> None:
    attempt.result, attempt.ended_us = type(message).__name__, now_us
    if isinstance(message, Prepared) and message.transaction is not None:
        found = message.transaction
        attempt.transaction = found.transactional_id, found.producer_id, found.producer_epoch
