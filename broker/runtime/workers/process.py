"""The helper process itself: takes assignments from stdin, one at a time, and reports on stdout.

Imports storage and protocol, and what a job needs; no event loop, so that it starts in a few tens of milliseconds. It
ends at once when stdin ends, also in the middle of a job: no broker would read the result, and the next broker may be
about to open the same files. It leaves the processor to the broker (nice), and if memory runs out the system ends it
first. ^C and a service's stop reach the broker, which ends it.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Protocol

from barnabas.broker.runtime.workers.job import Job
from barnabas.broker.runtime.workers.messages import (
    Failed,
    JobAssignment,
    JobDone,
    JobProgress,
    Messages,
    Ready,
    encode,
)
from barnabas.broker.runtime.workers.own_directory import OwnDirectory
from barnabas.storage.disk.files import Files
from barnabas.storage.errors import from_os_error

NICENESS = 5  # so that the work that clients wait for ends on a busy machine, too
_OOM_SCORE_ADJUSTMENT = b"500"  # of 1000
_PROGRESS_EVERY_S = 0.05
_SLEEP_S = 1.0  # at most, before it reports progress again
_READ_BYTES = 1 << 16

Report = Callable[[JobProgress | JobDone | Failed], None]


class JobThrottle:
    """How long to sleep so that at most so many bytes are done in a second (0: no limit)."""

    def __init__(self, bytes_per_s: int, now_s: float) -> None:
        self._bytes_per_s = bytes_per_s
        self._begun_s = now_s

    def sleep_s(self, done_bytes: int, now_s: float) -> float:
        """Return the seconds to sleep after so many bytes in all; 0 for no sleep."""
        if not self._bytes_per_s:
            return 0.0
        return max(0.0, self._begun_s + done_bytes / self._bytes_per_s - now_s)


def main() -> None:
    """Run as a helper process until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    give_way()
    results = os.dup(1)
    os.dup2(2, 1)  # prints go to the log
    assignments: SimpleQueue[JobAssignment] = SimpleQueue()
    stdin = os.fdopen(0, "rb", buffering=0, closefd=False)
    threading.Thread(target=listen, args=(stdin, assignments.put), daemon=True).start()

    def report(message: Ready | JobProgress | JobDone | Failed) -> None:
        left = memoryview(encode(message))
        while left:
            left = left[os.write(results, left) :]

    report(Ready())
    while True:
        carry_out(assignments.get(), report)


def give_way() -> None:
    """Give the broker precedence over this process, for the processor and for memory."""
    with suppress(OSError):  # a sandbox may forbid it
        os.nice(NICENESS)
    with suppress(OSError), open("/proc/self/oom_score_adj", "wb") as file:  # not on this system, or forbidden
        file.write(_OOM_SCORE_ADJUSTMENT)


class Stdin(Protocol):
    """The stream of assignments."""

    def read(self, size: int, /) -> bytes | None:
        """Read at most so many bytes; none at the end."""


def listen(stdin: Stdin, put: Callable[[JobAssignment], None], end: Callable[[int], Any] = os._exit) -> None:
    """Read assignments in a thread and pass them on; end the process at the end of stdin."""
    messages = Messages()
    while data := stdin.read(_READ_BYTES):
        for message in messages.feed(data):
            put(message)
    end(0)


def carry_out(assignment: JobAssignment, report: Report) -> None:
    """Do a job in its directory, and report its result."""
    job = assignment.job
    try:
        try:
            files = OwnDirectory(job.directory)
        except OSError as error:
            raise from_os_error(job.directory, "enter the directory", error) from error
        try:
            result = go_through(job, files, assignment.bytes_per_s, report)
        finally:
            files.leave()
        report(JobDone(result))
    except Exception as error:  # raised in the broker, where the job was requested
        report(Failed.of(error))


def go_through(
    job: Job[Any],
    files: Files,
    bytes_per_s: int,
    report: Report,
    now_s: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,  # noqa: TID251  # the pace of a process that waits for nothing else
) -> Any:
    """Do the steps of a job one after another; return its result."""
    pace = JobThrottle(bytes_per_s, now_s())
    done_bytes, reported_s = 0, now_s()
    steps = job.steps(files)
    try:
        step = next(steps)
        while True:
            if isinstance(step, int):
                done_bytes += step
                if now_s() - reported_s >= _PROGRESS_EVERY_S:
                    report(JobProgress(done_bytes))
                    reported_s = now_s()
                while pause_s := pace.sleep_s(done_bytes, now_s()):
                    sleep(min(pause_s, _SLEEP_S))
                    if pause_s > _SLEEP_S:
                        report(JobProgress(done_bytes))
                step = next(steps)
                continue
            try:
                step()
            except Exception as error:  # the steps handle it
                step = steps.throw(error)
            else:
                step = next(steps)
    except StopIteration as end:
        report(JobProgress(done_bytes))
        return end.value
    finally:
        steps.close()
