"""Detection of crashes by faults, from the broker's log, whose last line reports it.

The broker ends as by SIGKILL then, and can send no message. Knows that line (broker/control/faults/point_faults.py),
nothing else.
"""

from __future__ import annotations

import re
from typing import NamedTuple

CRASHING = "fault crashes the broker"
STARTED = "broker started"
_LAST_LINES = 20
_LINE = re.compile(rf"ERROR faults {CRASHING} fault=(\S+) point=(\S+)")


class Crash(NamedTuple):
    """The fault, and the step that it crashed the broker at."""

    fault: str
    point: str

    def __str__(self) -> str:
        return f"fault {self.fault} crashed the broker at {self.point}"

    @property
    def while_down(self) -> str:
        """The message while the broker is not started again."""
        return f"{self}; start() brings it back, with its data and at its port"


def crash_in(log: str) -> Crash | None:
    """Return the fault that ended the last of the brokers that wrote this log, if it was a fault."""
    for line in reversed(log.splitlines()[-_LAST_LINES:]):
        found = _LINE.search(line)
        if found is not None:
            return Crash(*found.groups())
        if STARTED in line:
            return None
    return None
