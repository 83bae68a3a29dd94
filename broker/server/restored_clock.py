"""Replaces the clock of an environment by one that can be moved, or that is ahead of the machine's as it was.

A start that needs no such clock pays nothing: the movable clock is imported only here, and only if it is needed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from barnabas.broker.control.time_control import clock_offset_file
from barnabas.broker.runtime.log_lines import line, logger

if TYPE_CHECKING:
    from barnabas.broker.server.environment import Environment
    from barnabas.storage.disk.directory import Directory

_log = logger("control")


def in_its_time(environment: Environment, root: Directory) -> Environment:
    """Return the environment with a clock as far ahead as it was in the last run on `root`. Raises StorageError."""
    ahead_ms = clock_offset_file.read(root)
    if not ahead_ms:
        return environment
    _log.warning(line("the clock is ahead of the machine's, as it was moved", ahead_ms=ahead_ms))
    return movable(environment, ahead_ms)


def movable(environment: Environment, ahead_ms: int = 0) -> Environment:
    """Return the environment with a clock that can be stopped and moved, unless it has one already."""
    from barnabas.broker.control.time_control.movable_clock import MovableClock

    clock, machine_clock = environment.clock, environment.machine_clock
    if isinstance(clock, MovableClock):
        clock.start_ahead(ahead_ms)
        return environment

    def failed(error: Exception) -> None:
        _log.error(line("timer failed", error=repr(error)), exc_info=error)

    made = MovableClock(machine_clock, failed, ahead_ms=ahead_ms, stopwatch=environment.stopwatch)
    return replace(environment, clock=made)
