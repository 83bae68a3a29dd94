"""Members that leave a share group: by a heartbeat, or at the end of their session."""

from __future__ import annotations

from typing import Any

from barnabas.broker.coordinator.group.decisions.consumer.model import Topics
from barnabas.broker.coordinator.group.decisions.consumer.subscriptions import metadata_hash
from barnabas.broker.coordinator.group.decisions.modern.group import MetadataSeen
from barnabas.broker.coordinator.group.decisions.modern.members import known_member
from barnabas.broker.coordinator.group.decisions.modern.records import KeyedRecord
from barnabas.broker.coordinator.group.decisions.share import records
from barnabas.broker.coordinator.group.decisions.share.group import ShareGroup
from barnabas.broker.coordinator.group.decisions.share.model import (
    ShareGroupConfig,
    ShareGroupMember,
    ShareHeartbeatReply,
    ShareHeartbeatRequest,
)
from barnabas.broker.coordinator.runtime.outcome import CancelTimer, Outcome, SetTimer, TimerKey

ShareOutcome = Outcome[KeyedRecord, MetadataSeen]
_SESSION = "share session"
_AT_ANY_TIME_MS = 0


def share_session_timer(member_id: str) -> TimerKey:
    """Return the key of the timer that ends the member's session."""
    return TimerKey(_SESSION, member_id)


def is_of_share_group(timer: TimerKey) -> bool:
    return timer.kind == _SESSION


def leave_share_group(group: ShareGroup, request: ShareHeartbeatRequest, *, topics: Topics) -> ShareOutcome:
    """Decide a heartbeat that leaves; the reply is a ShareHeartbeatReply. UNKNOWN_MEMBER_ID."""
    member = known_member(group, request.member_id)
    reply = ShareHeartbeatReply(request.member_id, request.member_epoch)
    return _gone(group, member, topics)._replace(reply=reply)


def share_session_ended(group: Any, timer: TimerKey, *, topics: Topics) -> ShareOutcome:
    """Decide what the timer of a member does now; nothing if the member is gone."""
    member = group.members.get(timer.member_id) if isinstance(group, ShareGroup) else None
    return Outcome() if member is None else _gone(group, member, topics)


def share_group_loaded(group: ShareGroup, *, config: ShareGroupConfig) -> ShareOutcome:
    """Start the session timers of a group that was loaded from the log."""
    timers = (SetTimer(share_session_timer(each), config.session_timeout_ms) for each in group.members)
    return Outcome(effects=tuple(timers))


def _gone(group: ShareGroup, member: ShareGroupMember, topics: Topics) -> ShareOutcome:
    """Return the outcome of a member's end; with the last one the assignment epoch rises, too."""
    epoch = group.group_epoch + 1
    fresh_hash = metadata_hash(group.counts_with(member, ()), topics)
    written = [
        *records.share_member_gone(group.group_id, member.member_id),
        records.share_epoch_bumped(group.group_id, epoch, fresh_hash),
    ]
    if len(group.members) == 1:
        written.append(records.share_targets_computed(group.group_id, epoch, _AT_ANY_TIME_MS))
    return Outcome(records=tuple(written), effects=(CancelTimer(share_session_timer(member.member_id)),))
