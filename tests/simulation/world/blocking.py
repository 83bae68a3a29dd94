"""A thread of a simulated process, for code that blocks: our client, and what stands on it.

It is a thread of Python's, and yet nothing runs beside anything else: the thread runs while the loop of its process
waits for it, and the other way round. Whenever its code blocks, for an answer or for time, the thread gives what it
waits for to the loop, as a coroutine, and sleeps until the loop has it. So which of them runs is never chance.

Once its process is dead, whatever the thread asks for next raises `Killed`: it unwinds, and nothing that it still does
on its way out reaches anybody.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from tests.simulation.world.process import Process

T = TypeVar("T")


class Killed(BaseException):
    """The process of this thread is dead."""


class BlockingThread:
    """Runs one job after the other. Invariant: it is at work, or the loop is, and never both."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self._may_work = threading.Semaphore(0)
        self._has_stopped = threading.Semaphore(0)
        self._job: Callable[[], None] | None = None
        self._asked: Coroutine[Any, Any, Any] | None = None
        self._answer: asyncio.Task[Any]
        self._is_over = False
        self._thread = threading.Thread(target=self._work, name=process.name, daemon=True)
        process.when_dead.append(self.end)

    # --- in the loop of its process --------------------------------------------------------------------------------

    async def call(self, job: Callable[[], T]) -> T:
        """What the job returns or raises."""
        assert self._job is None, "one job at a time"
        result: asyncio.Future[T] = self.process.loop.create_future()

        def work() -> None:
            try:
                found = job()
            except Exception as error:
                result.set_exception(error)
            else:
                result.set_result(found)

        self._job = work
        if not self._thread.is_alive():
            self._thread.start()
        self._let_it_work()
        return await result

    def end(self) -> None:
        """It is needed no more, or its process is dead: the thread unwinds, and is gone."""
        if not self._is_over:
            self._is_over = True
            assert self._job is None or self.process.is_dead, "it is at work"
            if self._thread.is_alive():
                self._let_it_work()
                self._thread.join()

    def _let_it_work(self) -> None:
        """Until it waits for something, or its job is done."""
        self._may_work.release()
        self._has_stopped.acquire()
        if self._asked is not None:
            self._answer = self.process.loop.create_task(self._asked)
            self._asked = None
            self._answer.add_done_callback(lambda _: self._let_it_work())

    # --- in the thread ---------------------------------------------------------------------------------------------

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Let the loop run the coroutine to its end; what it returns or raises. Killed."""
        if self.process.is_dead:
            coroutine.close()
            raise Killed
        self._asked = coroutine
        self._has_stopped.release()
        self._may_work.acquire()
        if self.process.is_dead:
            raise Killed
        found: T = self._answer.result()
        return found

    def die(self) -> None:
        """The process dies here, in the middle of what the thread is doing. Killed."""
        self.process.note_power_cut()
        raise Killed

    def _work(self) -> None:
        self._may_work.acquire()
        while not self._is_over and self._job is not None:
            with suppress(Killed):  # the process of this thread was killed
                self._job()
            self._job = None
            if not self._is_over:
                self._has_stopped.release()
                self._may_work.acquire()
        self._has_stopped.release()
