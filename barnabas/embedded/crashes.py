"""Whether a broker has ended by a fault that crashes it: read from its log, whose last line says so.

The broker ends as by SIGKILL then, and can tell nobody. Knows that line (broker/control/faults/point_faults.py),
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
        return f"{self.what}; start() brings it back, with its data and at its port"

    @property
    def what(self) -> str:
        """The beginning of a sentence."""
        return f"fault {self.fault} crashed the broker at {self.point}"


def crash_in(log: str) -> Crash | None:
    """What ended the last of the brokers that wrote this log, if that was such a fault."""
    for line in reversed(log.splitlines()[-_LAST_LINES:]):
        found = _LINE.search(line)
        if found is not None:
            return Crash(*found.groups())
        if STARTED in line:
            return None
    return None
