"""A simulated process: an event loop of its own, threads, and a death that may come at any turn.

What it does to the outside goes through the world's network and a disk, which ask `is_dead` first: from the moment
of its death on nothing of it reaches anybody, though Python may still run the rest of the turn it died in.
"""

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from typing import Any

from tests.simulation.world.loop import Job, SimulatedLoop
from tests.simulation.world.world import World
from tests.support.files.memory_files import PowerCut

_JOB_US_MAX = 3_000
_SLOW_JOB_US = 400_000
LATE_MS = 2_500


class Process:
    """`slow_jobs`: how probable it is that a job of a thread begins late.

    `late_jobs`: how probable it is that it has done what it was to do long before it says so, as a sync does whose
    device is slow to answer: what is written meanwhile is not part of it.
    """

    def __init__(self, world: World, name: str, *, slow_jobs: float = 0.0, late_jobs: float = 0.0) -> None:
        self.world = world
        self.name = name
        self.is_dead = False
        self.when_dead: list[Callable[[], None]] = []
        self.loop = SimulatedLoop(world.now_s, self._run_job)
        self.loop.set_exception_handler(self._on_exception)
        self._slow_jobs, self._late_jobs = slow_jobs, late_jobs
        self._late_dice = world.dice(f"late jobs of {name}")
        self._dice = world.dice(f"threads of {name}")
        self._thread_free_us: dict[int, int] = {}
        self._dies_after_turns: int | None = None
        self.tasks: list[asyncio.Task[Any]] = []
        """What was begun by `run` and is not over."""
        self._jobs: dict[int, tuple[str, int]] = {}
        self._job_numbers = itertools.count()
        world.processes.append(self)

    @property
    def jobs(self) -> list[tuple[str, int]]:
        """What its threads are at or have still to do, and when they were asked."""
        return list(self._jobs.values())

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Begin to run a coroutine in it."""
        task = self.loop.create_task(coroutine)
        self.tasks.append(task)
        task.add_done_callback(self.tasks.remove)
        return task

    def die_in_turns(self, turns: int) -> None:
        """Die at the end of its n-th turn from now."""
        self._dies_after_turns = turns

    def live_on(self) -> None:
        """Take `die_in_turns` back."""
        self._dies_after_turns = None

    def be_quick(self) -> None:
        """Let jobs of its threads begin, and say that they are done, in time from now on."""
        self._slow_jobs = self._late_jobs = 0.0

    def turn(self) -> None:
        self.loop.turn()
        if self._dies_after_turns is not None:
            self._dies_after_turns -= 1
            if self._dies_after_turns <= 0:
                self.is_dead = True
        if self.is_dead:
            self._remove()

    def kill(self) -> None:
        """It dies now, between two turns."""
        if not self.is_dead:
            self.is_dead = True
            self._remove()

    def note_power_cut(self) -> None:
        """It met its end in a call to the disk; what is left of the turn has no effect."""
        self.is_dead = True

    def _remove(self) -> None:
        if self in self.world.processes:
            self.world.processes.remove(self)
            for task in self.tasks:
                task._log_destroy_pending = False  # type: ignore[attr-defined]  # because nobody is to hear of it
            self.loop.die()
            for callback in self.when_dead:
                callback()

    def _run_job(self, executor: object, name: str, job: Job) -> None:
        """A thread of the process does something, after what it does already."""
        is_slow = self._dice.random() < self._slow_jobs
        begin_us = max(self.world.now_us, self._thread_free_us.get(id(executor), 0))
        begin_us += self._dice.randrange(1, _JOB_US_MAX) + (self._dice.randrange(_SLOW_JOB_US) if is_slow else 0)
        self._thread_free_us[id(executor)] = begin_us
        late_us = 0
        if self._late_jobs and self._late_dice.random() < self._late_jobs:
            late_us = self._late_dice.randrange(LATE_MS * 1000)
            self._thread_free_us[id(executor)] += late_us
        number = next(self._job_numbers)
        self._jobs[number] = name, self.world.now_us
        self.world.later(begin_us - self.world.now_us, lambda: self._do(number, job, late_us))

    def _do(self, number: int, job: Job, late_us: int) -> None:
        del self._jobs[number]
        if self.is_dead:
            return
        tell = job()
        if self.is_dead:
            self._remove()
        elif late_us:
            self.world.later(late_us, tell)
        else:
            tell()

    def _on_exception(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, PowerCut) or self.is_dead:
            return
        self.world.failures.append(f"{self.name}: {context.get('message')}: {error!r}")
