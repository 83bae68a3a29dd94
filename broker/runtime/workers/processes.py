"""The helper processes of one broker: started on demand, kept while there is work, ended when idle for a while.

Knows no jobs: the user of a process returns or kills it. A failed start is logged at most once a minute, since no other
start is tried in that time.

Invariants: there are at most `limit` processes, including those that are being started; each is starting, idle, or
taken by one job; after `close` there is none.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future, TimerHandle, wait
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from barnabas.broker.runtime.log_lines import line, logger
from barnabas.broker.runtime.workers.helper import Helper, can_start, command, start
from barnabas.broker.runtime.workers.messages import Failed, JobDone, JobProgress, Ready

if TYPE_CHECKING:
    from subprocess import Popen

_log = logger("workers")
_TRY_AGAIN_S = 60.0
_END_S = 2.0
_READY_S = 60.0
_CHECKS = 5


class Processes:
    """Processes that take jobs."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        limit: int,
        idle_s: float,
        program: Sequence[str] | None,
        quiet_s: float,
        *,
        heard: Callable[[Helper, JobProgress | JobDone | Failed], None],
        died: Callable[[Helper], None],
        changed: Callable[[], None],
    ) -> None:
        """Start no process yet. quiet_s: a process without messages for so long has hung, and is killed.

        heard: called with the messages of taken processes. died: called when a taken process has died. changed: called
        when a process is idle, or none can be started.
        """
        self._loop = loop
        self.limit = limit if can_start() else 0
        self._idle_s = idle_s
        self._program = program
        self._check_s = quiet_s / _CHECKS
        self._check: TimerHandle | None = None
        self._heard_of = heard
        self._died_of = died
        self._changed = changed
        self._starting: set[Future[Popen[bytes]]] = set()
        self._unready: set[Helper] = set()
        self._idle: dict[Helper, TimerHandle] = {}
        self._taken: set[Helper] = set()
        self._ending: set[Helper] = set()
        self._none_until = 0.0
        self._is_closed = False

    @property
    def can_be_had(self) -> bool:
        """Whether there are processes, as far as is known now."""
        return self.limit > 0 and self._loop.time() >= self._none_until

    @property
    def pids(self) -> list[int]:
        """The ids of the present processes."""
        return [helper.pid for helper in (*self._unready, *self._idle, *self._taken)]

    def take(self) -> Helper | None:
        """Take an idle process. Return it with `give_back` when its job has ended, or kill it."""
        if not self._idle:
            return None
        helper, timer = self._idle.popitem()
        timer.cancel()
        self._taken.add(helper)
        self._check_later()
        return helper

    def give_back(self, helper: Helper) -> None:
        """Make a process idle after its job."""
        self._taken.remove(helper)
        self._become_idle(helper)

    def want(self, count: int) -> None:
        """Start processes for so many waiting jobs: as many as the limit allows, less those that are starting."""
        coming = len(self._starting) + len(self._unready)
        there = coming + len(self._idle) + len(self._taken)
        for _ in range(min(count - coming, self.limit - there)):
            program = command() if self._program is None else self._program
            starting = self._loop.run_in_executor(None, start, program)
            self._starting.add(starting)
            starting.add_done_callback(self._started)

    def kill(self, helper: Helper) -> None:
        """End a process now, even during a job."""
        self._forget(helper)
        helper.kill()

    def close(self) -> None:
        """End all processes."""
        self._is_closed = True
        if self._check is not None:
            self._check.cancel()
        for helper in [*self._unready, *self._idle, *self._taken]:
            self.kill(helper)

    async def ended(self) -> None:
        """Wait, after `close`, until the system holds nothing of the processes any more."""
        while self._starting:
            await wait(self._starting)
        for helper in list(self._ending):
            await helper.is_gone

    def close_now(self) -> None:
        """Close and wait for the end of all processes, without turns of the loop."""
        self.close()
        for helper in list(self._ending):
            helper.kill_and_wait(_END_S)

    def _started(self, done: Future[Popen[bytes]]) -> None:
        self._starting.discard(done)
        if done.cancelled():
            return
        if (error := done.exception()) is not None:
            self._cannot_start(error)
            return
        helper = Helper(self._loop, done.result(), self._heard, self._died)
        self._unready.add(helper)
        self._loop.call_later(_READY_S, self._end_unready, helper)
        if self._is_closed:
            self.kill(helper)

    def _heard(self, helper: Helper, message: Any) -> None:
        if isinstance(message, Ready):
            self._unready.remove(helper)
            self._become_idle(helper)
        else:
            self._heard_of(helper, message)

    def _become_idle(self, helper: Helper) -> None:
        self._idle[helper] = self._loop.call_later(self._idle_s, self.kill, helper)
        self._changed()

    def _end_unready(self, helper: Helper) -> None:
        if helper in self._unready:
            helper.kill()
            self._died(helper)

    def _check_later(self) -> None:
        if self._check is None and not self._is_closed and self._taken:
            self._check = self._loop.call_later(self._check_s, self._look_for_hung)

    def _look_for_hung(self) -> None:
        """Kill processes that were silent at every check: a broker that was stopped itself checks once after that."""
        self._check = None
        for helper in list(self._taken):
            helper.quiet_checks += 1
            if helper.quiet_checks > _CHECKS:
                _log.warning(line("a helper process has hung", pid=helper.pid, quiet_s=self._check_s * _CHECKS))
                helper.kill()
                self._died(helper)
        self._check_later()

    def _died(self, helper: Helper) -> None:
        """Handle the end of a process: it has ended by itself, was killed from outside, or hung."""
        was_unready, was_taken = helper in self._unready, helper in self._taken
        self._forget(helper)
        if was_unready:
            self._cannot_start(f"process {helper.pid} ended, or hung, before it was ready")
        elif was_taken:
            self._died_of(helper)

    def _cannot_start(self, reason: object) -> None:
        if not self._is_closed:
            _log.warning(line("no helper process: their work is done on the event loop for a while", reason=reason))
            self._none_until = self._loop.time() + _TRY_AGAIN_S
            self._changed()

    def _forget(self, helper: Helper) -> None:
        self._unready.discard(helper)
        self._taken.discard(helper)
        if (timer := self._idle.pop(helper, None)) is not None:
            timer.cancel()
        if not helper.is_gone.done():
            self._ending.add(helper)
            helper.is_gone.add_done_callback(lambda _: self._ending.discard(helper))
