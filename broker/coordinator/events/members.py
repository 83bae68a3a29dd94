"""The events of joining and leaving members, of either protocol, with the request or timer that caused them."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.broker.runtime.events import kinds
from barnabas.broker.runtime.events.cause import Cause, RequestCause, TimerCause
from barnabas.broker.runtime.events.events import Events

_SESSION_TIMERS = ("session", "consumer session")
_OVERDUE = {
    "join": "it did not rejoin in time",
    "consumer join": "it did not rejoin in time",
    "sync": "it did not request its assignment in time",
    "consumer sync": "it did not request its assignment in time",
    "consumer rebalance": "it did not release its partitions in time",
}


def report_joined(events: Events, group_id: str, member_id: str, client_id: str, members_count: int) -> None:
    """Notify that a member joined."""
    facts = {"group": group_id, "member_id": member_id, "client_id": client_id, "members_count": members_count}
    events.emit(kinds.MEMBER_JOINED, facts)


def report_gone(
    events: Events,
    group_id: str,
    member_id: str,
    members_count: int,
    session_timeout_ms: int,
    successor: str | None = None,
) -> None:
    """Notify that a member left. successor: the id under which it came back, if it did."""
    cause = events.cause
    facts = {"group": group_id, "member_id": member_id, "members_count": members_count}
    if is_session_end(cause):
        events.emit(kinds.SESSION_EXPIRED, {**facts, "session_timeout_ms": session_timeout_ms})
    else:
        why = _why_gone(cause, member_id) if successor is None else f"it rejoined as {successor}"
        events.emit(kinds.MEMBER_LEFT, {**facts, "why": why})


def is_session_end(cause: Cause | None) -> bool:
    """Return whether the cause is the end of a session."""
    return isinstance(cause, TimerCause) and cause.timer in _SESSION_TIMERS


def rebalance_why(cause: Cause | None, joined: Sequence[str], gone: Sequence[str]) -> str:
    """Return why a rebalance begins, for the event."""
    if joined:
        return f"member {joined[0]} joined"
    if gone:
        return f"the session of member {gone[0]} ended" if is_session_end(cause) else f"member {gone[0]} left"
    if isinstance(cause, RequestCause) and cause.request_fields.get("member_id"):
        return f"member {cause.request_fields['member_id']} requested it with {cause.api}"
    if isinstance(cause, TimerCause):
        return "members did not respond in time"
    return "its subscription or its settings have changed"


def _why_gone(cause: Cause | None, member_id: str) -> str:
    if isinstance(cause, TimerCause):
        return _OVERDUE.get(cause.timer, "its time expired")
    if isinstance(cause, RequestCause):
        return "it left" if cause.request_fields.get("member_id") == member_id else f"it was removed by {cause.api}"
    return "it was removed"
