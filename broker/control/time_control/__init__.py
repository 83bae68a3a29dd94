"""Control of the broker's clock, which clients see: stopped and moved ahead, for tests of time-dependent behaviour."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from barnabas.broker.control.time_control.time_control import TimeControl
    from barnabas.broker.partitions.flush.group_flush import GroupFlush
    from barnabas.broker.partitions.housekeeping import Housekeeping
    from barnabas.broker.runtime.clock import Clock
    from barnabas.broker.services import Services
    from barnabas.storage.disk.directory import Directory


def open_time_control(
    clock: Clock,
    loop: AbstractEventLoop,
    services: Services,
    housekeeping: Housekeeping,
    flush: GroupFlush,
    root: Directory,
) -> TimeControl:
    """Return the control over the clock of a running broker. Raise ClockRefused if the clock cannot be moved."""
    from barnabas.broker.control.time_control.movable_clock import ClockRefused, MovableClock
    from barnabas.broker.control.time_control.settling import Settling
    from barnabas.broker.control.time_control.time_control import TimeControl

    if not isinstance(clock, MovableClock):
        raise ClockRefused("this broker uses the machine's clock: start it with --control")
    return TimeControl(clock, Settling(loop, services, housekeeping, flush), root, services.events)
