"""The interception of the broker's steps by faults: a listener of its events, while there are faults of steps.

At a step that matches a live fault the work is held up, or the write after the step fails, or the process ends as by
SIGKILL: nothing is finished, flushed or sent, except for a line in the log before it. `barnabas serve` is gone then; a
program that embeds the broker sees that its process has ended (barnabas/embedded), and starts it again.

If the broker shares its process with the test, no crash is armed: the plan is refused.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.broker.control.faults.held_requests import HoldReason, about_step
from barnabas.broker.control.faults.matching import matches_point
from barnabas.broker.control.faults.model import FaultPlan, FaultRefused, PointAction, PointMatch
from barnabas.broker.runtime.log_lines import line, logger
from barnabas.protocol.errors import KafkaError

if TYPE_CHECKING:
    from asyncio import Future

    from barnabas.broker.control.faults.armed import Armed
    from barnabas.broker.control.faults.registry import FaultRegistry
    from barnabas.broker.runtime.events import EventKind, Events
    from barnabas.broker.runtime.events.events import Facts

_log = logger("faults")
CRASHING = "fault crashes the broker"
"""The beginning of the last log line, which distinguishes a crash from any other end."""


def crash() -> None:
    """End this process as SIGKILL does, after its log is flushed."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os.kill(os.getpid(), signal.SIGKILL)


def check_has_no_crash(plan: FaultPlan) -> None:
    """Raise FaultRefused if a fault of the plan would end a process that is not the broker's alone."""
    for fault in plan.faults:
        if isinstance(fault.action, PointAction) and fault.action.crash:
            raise FaultRefused(
                "this broker runs in the process of the test, which a crash would end, too: start it without in_process"
            )


class PointFaults:
    """The faults at points of one broker."""

    def __init__(self, registry: FaultRegistry, events: Events, end: Callable[[], None] = crash) -> None:
        """Follow the registry. end: ends the process."""
        self._registry = registry
        self._events = events
        self._end = end
        self._live: list[tuple[PointMatch, PointAction, Armed]] = []
        registry.listen(self._follow)

    def _follow(self) -> None:
        """Take over the live faults of the registry after a change."""
        was_listening = bool(self._live)
        self._live = []
        for each in self._registry.live:
            match, action = each.fault.match, each.fault.action
            if isinstance(match, PointMatch) and isinstance(action, PointAction):
                self._live.append((match, action, each))
        if self._live and not was_listening:
            self._events.listen(self._meet)
        elif was_listening and not self._live:
            self._events.stop_listening(self._meet)

    def _meet(self, kind: EventKind, facts: Facts) -> Future[None] | None:
        """Handle an event as a `Listener`. The first fault that fires takes effect; the others only count."""
        fired: tuple[PointAction, Armed] | None = None
        for match, action, armed in self._live:
            if not matches_point(match, kind.name, facts):
                continue
            if fired is not None:
                armed.chances.matched += 1
            elif armed.is_live and armed.chances.fires():
                fired = action, armed
        if fired is None:
            return None
        action, armed = fired
        if action.crash:
            _log.error(line(CRASHING, fault=armed.name, point=kind.name, **facts))
            self._end()
            return None
        where: Facts = {name: facts[name] for name in ("topic", "partition") if name in facts}
        if action.error is not None:
            self._registry.fired(armed, "error", {"point": kind.name, **where})
            return armed.failed(KafkaError(action.error, f"fault {armed.name}"))
        held = armed.hold(HoldReason.PAUSED, about_step(self._registry.now_ms(), kind.name, facts))
        self._registry.fired(armed, "pause", {"point": kind.name, **where})
        return held
