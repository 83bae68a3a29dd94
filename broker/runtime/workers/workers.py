"""Jobs beside the event loop: in helper processes where there may be any, else in slices of the loop.

Knows jobs as values with steps (job.py), not their purpose. Jobs that a caller waits for begin before those in the
background, each kind in the order in which they were requested.

Cancelling the future cancels the job: its process is killed, and does no more in the job's directory than to end its
current call (own_directory.py). Where a process dies (a kill, no memory), or sends nothing for minutes (stopped, or a
disk does not answer) and is killed for that, its job begins again in another one, once; then the job fails with
HelperDied. While no process can be started, the jobs are done in slices.

Invariants: at most `jobs_max` jobs are under way; a process has one job at a time; after `close` there is neither job
nor process.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, CancelledError, Future
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.runtime.workers.job import Job
from barnabas.broker.runtime.workers.messages import Failed, JobAssignment, JobDone, JobProgress
from barnabas.broker.runtime.workers.processes import Processes

if TYPE_CHECKING:
    from barnabas.broker.runtime.scheduler import CooperativeScheduler
    from barnabas.broker.runtime.workers.helper import Helper
    from barnabas.storage.disk.files import Files

R = TypeVar("R")
_log = logger("workers")

IDLE_S = 10.0
QUIET_S = 300.0
"""How long a process may be silent: it reports its progress, but not while it waits for one sync of a segment."""
_BEGUN_MAX = 2


class HelperDied(Exception):
    """The helper process of a job died or hung, and so did the next one that was given the job."""


class _Task:
    """A job that has not ended."""

    __slots__ = ("assignment", "begun", "future", "helper", "in_background", "in_slices", "on_progress")

    def __init__(
        self,
        assignment: JobAssignment,
        future: Future[Any],
        on_progress: Callable[[int], None] | None,
        *,
        in_background: bool,
    ) -> None:
        self.assignment = assignment
        self.future = future
        self.on_progress = on_progress
        self.in_background = in_background
        self.begun = 0
        """How often it was begun."""
        self.helper: Helper | None = None
        self.in_slices: Future[Any] | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether it is being done now."""
        return self.helper is not None or self.in_slices is not None

    def report(self, done_bytes: int) -> None:
        """Report that so many bytes are done."""
        if self.on_progress is not None:
            self.on_progress(done_bytes)


class Workers:
    """The jobs of one broker, on its event loop."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        upkeep: CooperativeScheduler,
        files: Files,
        processes_max: int = 0,
        *,
        idle_s: float = IDLE_S,
        quiet_s: float = QUIET_S,
        program: Sequence[str] | None = None,
    ) -> None:
        """Prepare for jobs. files: for jobs in slices. processes_max: 0 has all jobs done in slices.

        idle_s: after which an idle process ends. quiet_s: after which a silent process is killed if it has a job.
        program: of a process, for tests.
        """
        self._loop = loop
        self._upkeep = upkeep
        self._files = files
        self._tasks: dict[Future[Any], _Task] = {}
        self._done_by: dict[Helper, _Task] = {}
        self._is_closed = False
        self._processes = Processes(
            loop, processes_max, idle_s, program, quiet_s, heard=self._heard, died=self._died, changed=self._dispatch
        )

    @property
    def has_processes(self) -> bool:
        """Whether jobs are done beside the loop, as far as is known now."""
        return self._processes.can_be_had

    @property
    def jobs_max(self) -> int:
        """How many jobs can be under way at a time."""
        return max(1, self._processes.limit)

    @property
    def pids(self) -> list[int]:
        """The ids of the present processes."""
        return self._processes.pids

    def run(
        self,
        job: Job[R],
        *,
        in_background: bool = False,
        on_progress: Callable[[int], None] | None = None,
        bytes_per_s: int = 0,
    ) -> Future[R]:
        """Return a future of the result, or of the job's exception or HelperDied. Cancel it to cancel the job.

        on_progress: called with the bytes read and written so far, now and then; they begin again at 0 if the job does.
        bytes_per_s: limit of bytes in a second (0: none).
        """
        future: Future[R] = self._loop.create_future()
        if self._is_closed:
            future.cancel()
            return future
        self._tasks[future] = _Task(JobAssignment(job, bytes_per_s), future, on_progress, in_background=in_background)
        future.add_done_callback(self._drop)
        self._dispatch()
        return future

    def hurry(self, future: Future[Any]) -> None:
        """Move a job out of the background: a caller waits for it now."""
        if (task := self._tasks.get(future)) is not None:
            task.in_background = False

    def give_up(self, future: Future[Any]) -> None:
        """Cancel the future, and stop the job now, not in a later turn."""
        future.cancel()
        self._drop(future)

    def close(self) -> None:
        """Cancel every job and end every process: the broker stops."""
        self._is_closed = True
        for future in list(self._tasks):
            self.give_up(future)
        self._processes.close()

    async def ended(self) -> None:
        """Wait, after `close`, until the system holds nothing of the processes any more."""
        await self._processes.ended()

    def close_now(self) -> None:
        """Close and wait for the end of all processes, without turns of the loop."""
        self.close()
        self._processes.close_now()

    # --- distribution of jobs ---

    def _dispatch(self) -> None:
        if self._is_closed:
            return
        waiting = [task for task in self._tasks.values() if not task.is_under_way]
        waiting.sort(key=lambda task: task.in_background)
        if not self.has_processes:
            self._do_in_slices(waiting)
            return
        for count, task in enumerate(waiting):
            helper = self._processes.take()
            if helper is None:
                self._processes.want(len(waiting) - count)
                return
            self._done_by[helper] = task
            task.helper = helper
            task.begun += 1
            helper.send(task.assignment)

    def _drop(self, future: Future[Any]) -> None:
        """Clean up after a future that is done; if its job has not ended, the future was cancelled."""
        task = self._tasks.pop(future, None)
        if task is None:
            return
        if task.in_slices is not None:
            self._upkeep.give_up(task.in_slices)
        elif task.helper is not None:
            del self._done_by[task.helper]
            self._processes.kill(task.helper)
        self._dispatch()

    def _end(self, task: _Task, result: Any, error: BaseException | None = None) -> None:
        if self._tasks.pop(task.future, None) is None or task.future.done():
            return
        if error is None:
            task.future.set_result(result)
        elif isinstance(error, CancelledError):
            task.future.cancel()
        else:
            task.future.set_exception(error)

    # --- in processes ---

    def _heard(self, helper: Helper, message: JobProgress | JobDone | Failed) -> None:
        task = self._done_by[helper]
        if isinstance(message, JobProgress):
            task.report(message.done_bytes)
            return
        del self._done_by[helper]
        task.helper = None
        if isinstance(message, JobDone):
            self._end(task, message.result)
        else:
            self._end(task, None, message.error())
        self._processes.give_back(helper)

    def _died(self, helper: Helper) -> None:
        task = self._done_by.pop(helper)
        directory = task.assignment.job.directory
        _log.warning(line("a helper process died", pid=helper.pid, directory=directory))
        task.helper = None
        if task.begun >= _BEGUN_MAX:
            self._end(task, None, HelperDied(f"{directory}: two helper processes died or hung over it"))
        self._dispatch()

    # --- in slices ---

    def _do_in_slices(self, waiting: list[_Task]) -> None:
        under_way = sum(task.is_under_way for task in self._tasks.values())
        for task in waiting:
            if under_way >= self.jobs_max:
                return
            under_way += self._begin_in_slices(task)

    def _begin_in_slices(self, task: _Task) -> bool:
        """Do the first slice. Return whether there is more."""
        from barnabas.broker.runtime.workers.sliced_job import JOB, steps_in_slices

        job, bytes_per_s = task.assignment
        begin = partial(steps_in_slices, job, self._files, bytes_per_s, task.report, self._loop)
        task.begun += 1
        try:
            result = self._upkeep.in_slices(begin, JOB)
        except Exception as error:  # raised where the job was requested
            self._end(task, None, error)
            return False
        if not isinstance(result, Future):
            self._end(task, result)
            return False
        task.in_slices = result
        result.add_done_callback(partial(self._ended_in_slices, task))
        return True

    def _ended_in_slices(self, task: _Task, done: Future[Any]) -> None:
        task.in_slices = None
        error = CancelledError() if done.cancelled() else done.exception()
        self._end(task, None if error is not None else done.result(), error)
        self._dispatch()
