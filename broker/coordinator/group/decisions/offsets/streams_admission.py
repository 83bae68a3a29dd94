"""The checks of offset commits and fetches in a streams group (KIP-1071): of members, their epochs and their tasks."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.broker.coordinator.group.decisions.classic.model import CommitRequest, OffsetToCommit
from barnabas.broker.coordinator.group.decisions.streams.group import StreamsGroup
from barnabas.broker.coordinator.group.decisions.streams.model import StreamsGroupMember
from barnabas.protocol.errors import ErrorCode


def streams_commit_refusal(
    group: StreamsGroup, request: CommitRequest, offsets: Iterable[OffsetToCommit], *, is_transactional: bool
) -> ErrorCode:
    """Return the error of an OffsetCommit or TxnOffsetCommit, or NONE: one code for all of it."""
    if request.generation_id < 0 and not group.members:
        return ErrorCode.NONE
    is_anonymous = request.generation_id == -1 and not request.member_id and request.group_instance_id is None
    if is_transactional and is_anonymous:
        return ErrorCode.NONE
    member = group.members.get(request.member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if not is_transactional and not request.has_member_epoch:
        return ErrorCode.UNSUPPORTED_VERSION
    received = request.generation_id
    if received == member.member_epoch:
        return ErrorCode.NONE
    is_own = received < member.member_epoch and all(_is_since(group, member, each, received) for each in offsets)
    return ErrorCode.NONE if is_own else ErrorCode.STALE_MEMBER_EPOCH


def streams_fetch_refusal(group: StreamsGroup, member_id: str, member_epoch: int) -> ErrorCode:
    """Return the error of an OffsetFetch of a member, or NONE."""
    member = group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NONE if member_epoch == member.member_epoch else ErrorCode.STALE_MEMBER_EPOCH


def _is_since(group: StreamsGroup, member: StreamsGroupMember, offset: OffsetToCommit, epoch: int) -> bool:
    """Return whether the member has had the task behind an offset since an epoch, or longer."""
    subtopology_id = None if group.topology is None else group.topology.by_source_topic.get(offset.topic)
    if subtopology_id is None:
        return False
    for owned in (member.assigned, member.pending_revocation):
        since = owned.since(subtopology_id, offset.partition)
        if since is not None:
            return since <= epoch
    return False
