"""The clock that clients are told, stopped and moved ahead: for tests of what happens when time goes by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.time_control import ahead_note

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from barnabas.broker.context import Services
    from barnabas.broker.environment import Environment
    from barnabas.broker.partitions.flushing import GroupFlush
    from barnabas.broker.partitions.housekeeping import Housekeeping
    from barnabas.broker.time_control.time_control import TimeControl
    from barnabas.storage.disk.directory import Directory


def in_its_time(environment: Environment, root: Directory) -> Environment:
    """With a clock that is as far ahead of the machine's as it was when the broker last ran on `root`. StorageError."""
    ahead_ms = ahead_note.read(root)
    if not ahead_ms:
        return environment
    from barnabas.broker.time_control.opening import moved_ahead  # what is seldom needed costs a start nothing

    return moved_ahead(environment, ahead_ms)


def open_time_control(
    environment: Environment,
    loop: AbstractEventLoop,
    services: Services,
    housekeeping: Housekeeping,
    flush: GroupFlush,
    root: Directory,
) -> TimeControl:
    """What stops and moves the clock of a running broker. ClockRefused where that cannot be moved."""
    from barnabas.broker.time_control.movable_clock import ClockRefused, MovableClock
    from barnabas.broker.time_control.settling import Settling
    from barnabas.broker.time_control.time_control import TimeControl

    clock = environment.clock
    if not isinstance(clock, MovableClock):
        raise ClockRefused("the clock of this broker is the machine's")
    return TimeControl(clock, environment.machine_clock, Settling(loop, services, housekeeping, flush), root)
