"""The timers of a consumer group's members."""

from __future__ import annotations

from barnabas.broker.coordinator.runtime.outcome import TimerKey

_SESSION, _REBALANCE = "consumer session", "consumer rebalance"


def session_timer(member_id: str) -> TimerKey:
    """By when the member has to be heard of."""
    return TimerKey(_SESSION, member_id)


def rebalance_timer(member_id: str) -> TimerKey:
    """By when the member has to have given up what it was asked for."""
    return TimerKey(_REBALANCE, member_id)


def is_of_consumer_group(timer: TimerKey) -> bool:
    return timer.kind in (_SESSION, _REBALANCE)


def is_session(timer: TimerKey) -> bool:
    return timer.kind == _SESSION
