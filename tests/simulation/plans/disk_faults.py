"""Calls of the disk that fail: of every kind, on every kind of file. Nothing of it happens unless the plan has it.

After a failed sync a broker uses its data directory no more (docs/decisions/0022), and one that cannot read or write
what it needs does not start: somebody starts it again. That is in misfortunes.py.
"""

import errno
from collections.abc import Callable

from tests.simulation.plans.plan import Plan
from tests.simulation.world.machine import Machine
from tests.simulation.world.world import World

_LOGS = (".log", "/output-", "/__transaction_state-", "/__consumer_offsets-", "/__cluster_metadata-")
_INDEXES = (".index", ".timeindex", ".txnindex")
_WHOLE = (".snapshot", "checkpoint")
_ANY = "/data"
_CALLS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("sync", (_ANY, *_LOGS, *_INDEXES, *_WHOLE)),
    ("sync", (_ANY, *_LOGS)),
    ("sync_directory", (_ANY, *_LOGS[1:])),
    ("pwrite", (_ANY, *_LOGS, *_INDEXES, *_WHOLE)),
    ("truncate", (_ANY, *_LOGS)),
    ("create", (_ANY, *_LOGS, *_INDEXES, *_WHOLE)),
    ("open", (_ANY, *_LOGS, *_INDEXES, *_WHOLE)),
    ("pread", (_ANY, *_LOGS, *_INDEXES, *_WHOLE)),
    ("rename", (_ANY, *_LOGS, *_INDEXES, *_WHOLE)),
    ("remove", (_ANY, *_LOGS, *_INDEXES, *_WHOLE)),
    ("mkdir", (_ANY,)),
)
"""Of Files and File, and parts of the paths that they are called with."""
_SKIPPED_MAX = 6


class DiskFaults:
    """Of one machine, as a plan has them."""

    def __init__(self, world: World, machine: Machine, plan: Plan, note: Callable[[str], None]) -> None:
        """note: is told what happens."""
        self._world, self._machine, self._plan, self._note = world, machine, plan, note
        self._dice = world.dice("disk faults")
        self._are_over = False

    def begin(self) -> None:
        """Let everything that is planned happen from now on."""
        for _ in range(self._plan.failing_calls):
            self._world.later(self._dice.randrange(self._plan.length_ms) * 1000, self._strike)

    def end(self) -> None:
        """No fault from now on. Those that are armed are the disk's to forget."""
        self._are_over = True

    def _strike(self) -> None:
        """One of the next calls of a kind fails, or several."""
        if self._are_over:
            return
        call, paths = self._dice.choice(_CALLS)
        path = self._dice.choice(paths)
        error = self._dice.choice([errno.EIO, errno.EIO, errno.ENOSPC, errno.EMFILE])
        if error == errno.EMFILE and call not in ("create", "open"):
            error = errno.EIO
        times, skip = self._dice.choice([1, 1, 3]), self._dice.randrange(_SKIPPED_MAX)
        self._note(f"{times} calls of {call} fail on {path}")
        self._machine.disk.fail(call, error, path=path, skip=skip, times=times)
