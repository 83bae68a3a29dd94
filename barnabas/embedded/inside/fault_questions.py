"""Calls of a broker's owner about faults, in plain values. FaultRefused for a fault that makes no sense."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from barnabas.broker.control.faults.registry import NotInTime

if TYPE_CHECKING:
    from barnabas.broker.control.faults.registry import FaultRegistry
    from barnabas.broker.server.broker import Broker


def fault_questions(broker: Broker) -> Mapping[str, Callable[..., Any | Awaitable[Any]]]:
    """Return the functions by name."""

    def registry() -> FaultRegistry:
        return broker.faults.get().registry

    async def wait_fired(name: str, times: int, timeout_s: float) -> str | None:
        """Return None when it has fired so often; else how often it has."""
        try:
            await registry().wait_fired(name, times, timeout_s)
        except NotInTime:
            return f"it has fired {registry().get(name).chances.fired} of {times} times"
        return None

    async def wait_standing(name: str, count: int, timeout_s: float) -> str | None:
        """Return None when so many wait at its pause; else how many do."""
        try:
            await registry().wait_standing(name, count, timeout_s)
        except NotInTime:
            return f"{registry().get(name).standing} of {count} requests or steps wait"
        return None

    return {
        "faults_arm": lambda text: [each.name for each in broker.faults.get().arm_json(text)],
        "faults_list": lambda: [each.state() for each in registry().every()],
        "faults_reset": lambda: _done(registry().reset()),
        "faults_unfired": lambda: registry().unfired(),
        "fault_state": lambda name: registry().get(name).state(),
        "fault_release": lambda name: _done(registry().release(name)),
        "fault_disarm": lambda name: _done(registry().disarm(name)),
        "fault_wait_fired": wait_fired,
        "fault_wait_standing": wait_standing,
    }


def _done(_: object) -> None:
    """Return None in place of a result."""
