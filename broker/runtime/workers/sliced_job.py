"""A job in slices of the event loop: where no process can do it. Knows steps, not what they do."""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future
from collections.abc import Callable
from typing import TypeVar

from barnabas.broker.runtime.scheduler import Work, WorkClass
from barnabas.broker.runtime.workers.job import Job
from barnabas.broker.runtime.workers.process import JobThrottle
from barnabas.storage.disk.files import Files

R = TypeVar("R")

JOB = WorkClass(under_way_max=1_000, steps_max=1, slice_ms=0.5, may_begin_again=False)
"""How many run at a time is decided in workers.py."""


def steps_in_slices(
    job: Job[R], files: Files, bytes_per_s: int, report: Callable[[int], None], loop: AbstractEventLoop
) -> Work[R]:
    """Return the job as work for broker/runtime/scheduler.py. report: called with the bytes done so far."""
    pace = JobThrottle(bytes_per_s, loop.time())
    done_bytes = 0
    steps = job.steps(files)
    try:
        step = next(steps)
        while True:
            if isinstance(step, int):
                done_bytes += step
                report(done_bytes)
                pause_s = pace.sleep_s(done_bytes, loop.time())
                if pause_s:
                    later: Future[None] = loop.create_future()
                    loop.call_later(pause_s, _end, later)
                    yield later
                else:
                    yield None
                step = next(steps)
                continue
            try:
                yield step
            except Exception as error:  # of the call in a thread: the job handles it
                step = steps.throw(error)
            else:
                step = next(steps)
    except StopIteration as end:
        result: R = end.value
        return result
    finally:
        steps.close()


def _end(pause: Future[None]) -> None:
    if not pause.done():  # the job may have been cancelled
        pause.set_result(None)
