# compiled: mypyc
"""The timers of a consumer group's members."""

from __future__ import annotations

from typing import Final

from barnabas.broker.coordinator.runtime.outcome import CancelTimer, CancelTimers, TimerKey

_new_tuple: Final = tuple.__new__  # half the cost of a NamedTuple's constructor
_SESSION, _REBALANCE = "consumer session", "consumer rebalance"
_JOIN, _SYNC = "consumer join", "consumer sync"
_KINDS = (_SESSION, _REBALANCE, _JOIN, _SYNC)


def session_timer(member_id: str) -> TimerKey:
    """Return the key of the timer that ends the member's session."""
    return _new_tuple(TimerKey, (_SESSION, member_id))


def rebalance_timer(member_id: str) -> TimerKey:
    """Return the key of the timer for a member's revocation of partitions."""
    return _new_tuple(TimerKey, (_REBALANCE, member_id))


def join_timer(member_id: str) -> TimerKey:
    """Return the key of the timer for the requested rejoin of a member of the classic protocol."""
    return TimerKey(_JOIN, member_id)


def sync_timer(member_id: str) -> TimerKey:
    """Return the key of the timer for the SyncGroup of a member of the classic protocol."""
    return TimerKey(_SYNC, member_id)


def cancelled_timers(member_id: str) -> list[CancelTimer]:
    """Return the effects of a member's end."""
    return [CancelTimer(TimerKey(kind, member_id)) for kind in _KINDS]


def all_cancelled_timers() -> list[CancelTimers]:
    """Return the effects of the group's end."""
    return [CancelTimers(kind) for kind in _KINDS]


def is_of_consumer_group(timer: TimerKey) -> bool:
    return timer.kind in _KINDS


def is_rebalance(timer: TimerKey) -> bool:
    return timer.kind == _REBALANCE
