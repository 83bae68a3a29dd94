"""Threads without threads: so that a broker in memory does everything in the same order each time."""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


class InThisThread(ThreadPoolExecutor):
    """An executor whose thread is the caller's: everything happens in the same order each time."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except BaseException as error:
            done.set_exception(error)
        return done


class HeldThread(ThreadPoolExecutor):
    """An executor whose thread gets round to nothing until `run_all`, which is then the caller's."""

    def __init__(self) -> None:
        super().__init__(1)
        self._waiting: list[tuple[Future[Any], Any]] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        self._waiting.append((done, lambda: fn(*args, **kwargs)))
        return done

    def run_all(self) -> int:
        """Run what waits; how much there was."""
        waiting, self._waiting = self._waiting, []
        for done, run in waiting:
            done.set_result(run())
        return len(waiting)
