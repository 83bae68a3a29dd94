"""The timers of a consumer group's members."""

from __future__ import annotations

from barnabas.broker.coordinator.runtime.outcome import CancelTimer, CancelTimers, TimerKey

_SESSION, _REBALANCE = "consumer session", "consumer rebalance"
_JOIN, _SYNC = "consumer join", "consumer sync"
_KINDS = (_SESSION, _REBALANCE, _JOIN, _SYNC)


def session_timer(member_id: str) -> TimerKey:
    """By when the member has to be heard of."""
    return TimerKey(_SESSION, member_id)


def rebalance_timer(member_id: str) -> TimerKey:
    """By when the member has to have given up what it was asked for."""
    return TimerKey(_REBALANCE, member_id)


def join_timer(member_id: str) -> TimerKey:
    """By when the member, which speaks the classic protocol and was told to, has to join again."""
    return TimerKey(_JOIN, member_id)


def sync_timer(member_id: str) -> TimerKey:
    """By when the member, which speaks the classic protocol, has to have asked for its assignment."""
    return TimerKey(_SYNC, member_id)


def cancelled_timers(member_id: str) -> list[CancelTimer]:
    """The effects of a member's end."""
    return [CancelTimer(TimerKey(kind, member_id)) for kind in _KINDS]


def all_cancelled_timers() -> list[CancelTimers]:
    """The effects of the group's end."""
    return [CancelTimers(kind) for kind in _KINDS]


def is_of_consumer_group(timer: TimerKey) -> bool:
    return timer.kind in _KINDS


def is_rebalance(timer: TimerKey) -> bool:
    return timer.kind == _REBALANCE
