"""The timers of a streams group: of its members, and of its first assignment."""

from __future__ import annotations

from barnabas.broker.coordinator.runtime.outcome import CancelTimer, TimerKey

_SESSION, _REBALANCE, _INITIAL = "streams session", "streams rebalance", "streams initial rebalance"

INITIAL_REBALANCE = TimerKey(_INITIAL)
"""The timer that delays the first assignment of a group, so that instances that start together join together."""


def session_timer(member_id: str) -> TimerKey:
    """Return the key of the timer that ends the member's session."""
    return TimerKey(_SESSION, member_id)


def rebalance_timer(member_id: str) -> TimerKey:
    """Return the key of the timer for a member that has to give tasks up."""
    return TimerKey(_REBALANCE, member_id)


def cancelled_timers(member_id: str) -> list[CancelTimer]:
    """Return the effects of a member's end."""
    return [CancelTimer(TimerKey(kind, member_id)) for kind in (_SESSION, _REBALANCE)]


def is_of_streams_group(timer: TimerKey) -> bool:
    return timer.kind in (_SESSION, _REBALANCE, _INITIAL)


def is_rebalance(timer: TimerKey) -> bool:
    return timer.kind == _REBALANCE
