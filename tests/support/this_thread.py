"""Threads without threads: so that a broker in memory does everything in the same order each time."""

from __future__ import annotations

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
