"""From an environment to one whose clock can be moved, or goes on where the last one was."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from barnabas.broker.log_lines import line, logger
from barnabas.broker.time_control.movable_clock import MovableClock

if TYPE_CHECKING:
    from barnabas.broker.environment import Environment

_log = logger("control")


def movable(environment: Environment, ahead_ms: int = 0) -> Environment:
    """The same with a clock that can be stopped and moved, unless it has one."""
    clock, machine_clock = environment.clock, environment.machine_clock
    if isinstance(clock, MovableClock):
        clock.start_ahead(ahead_ms)
        return environment

    def failed(error: Exception) -> None:
        _log.error(line("timer failed", error=repr(error)), exc_info=error)

    made = MovableClock(machine_clock, failed, ahead_ms=ahead_ms, stopwatch=environment.stopwatch)
    return replace(environment, clock=made)


def moved_ahead(environment: Environment, ahead_ms: int) -> Environment:
    """The same with a clock that is so far ahead of the machine's, as it was when the broker last ran."""
    _log.warning(line("the clock is ahead of the machine's, as it was moved", ahead_ms=ahead_ms))
    return movable(environment, ahead_ms)
