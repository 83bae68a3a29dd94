"""The checks of offset commits and fetches in a modern group: of members and their epochs (KIP-848).

An older epoch is accepted for partitions that the member has had since then, or longer, so that a commit on its way is
not lost when the member moves to the next epoch. Groups of some types commit no offsets at all.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.broker.coordinator.group.decisions.classic.model import CommitRequest, Group, OffsetToCommit
from barnabas.broker.coordinator.group.decisions.consumer.group import ConsumerGroup
from barnabas.broker.coordinator.group.decisions.consumer.model import ConsumerGroupMember
from barnabas.broker.coordinator.group.decisions.group_types import CONSUMER_TYPE, STREAMS_TYPE, AnyGroup
from barnabas.broker.coordinator.group.decisions.modern.group import ModernGroup
from barnabas.protocol.errors import ErrorCode


def may_have_offsets(group: AnyGroup) -> bool:
    """Return whether a group of this type commits offsets; otherwise it also stays when it has none."""
    return isinstance(group, Group) or group.group_type in (CONSUMER_TYPE, STREAMS_TYPE)


def commit_refusal(group: ModernGroup, request: CommitRequest, offsets: Iterable[OffsetToCommit]) -> ErrorCode:
    """Return the error of an OffsetCommit, or NONE: one code for all of it, as from Kafka."""
    if not isinstance(group, ConsumerGroup):
        return _of_another_type(group, request, offsets, is_transactional=False)
    if request.generation_id < 0 and not group.members:
        return ErrorCode.NONE
    member = group.members.get(request.member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if not request.has_member_epoch and member.classic is None:
        return ErrorCode.UNSUPPORTED_VERSION
    return _epoch_refusal(member, request.generation_id, offsets)


def transactional_refusal(group: ModernGroup, request: CommitRequest, offsets: Iterable[OffsetToCommit]) -> ErrorCode:
    """Return the error of a TxnOffsetCommit, or NONE; ILLEGAL_GENERATION for clients without member epochs."""
    if not isinstance(group, ConsumerGroup):
        return _of_another_type(group, request, offsets, is_transactional=True)
    if request.generation_id < 0 and not group.members:
        return ErrorCode.NONE
    if request.generation_id == -1 and not request.member_id and request.group_instance_id is None:
        return ErrorCode.NONE
    member = group.members.get(request.member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    code = _epoch_refusal(member, request.generation_id, offsets)
    if code is ErrorCode.STALE_MEMBER_EPOCH and not request.has_member_epoch:
        return ErrorCode.ILLEGAL_GENERATION
    return code


def _of_another_type(
    group: ModernGroup, request: CommitRequest, offsets: Iterable[OffsetToCommit], *, is_transactional: bool
) -> ErrorCode:
    """Return the error of a commit in a group of a type that few brokers have; its code is imported here."""
    if group.group_type != STREAMS_TYPE:
        return ErrorCode.GROUP_ID_NOT_FOUND
    from barnabas.broker.coordinator.group.decisions.offsets.streams_admission import streams_commit_refusal
    from barnabas.broker.coordinator.group.decisions.streams.group import StreamsGroup

    assert isinstance(group, StreamsGroup)
    return streams_commit_refusal(group, request, offsets, is_transactional=is_transactional)


def fetch_refusal(group: ModernGroup, member_id: str | None, member_epoch: int) -> ErrorCode:
    """Return the error of an OffsetFetch, or NONE. A client that is not a member may fetch, too."""
    if member_id is None and member_epoch < 0:
        return ErrorCode.NONE
    if group.group_type == STREAMS_TYPE:
        from barnabas.broker.coordinator.group.decisions.offsets.streams_admission import streams_fetch_refusal
        from barnabas.broker.coordinator.group.decisions.streams.group import StreamsGroup

        assert isinstance(group, StreamsGroup)
        return streams_fetch_refusal(group, member_id or "", member_epoch)
    if not isinstance(group, ConsumerGroup):
        return ErrorCode.NONE
    member = group.members.get(member_id or "")
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NONE if member_epoch == member.member_epoch else _stale(member)


def _epoch_refusal(member: ConsumerGroupMember, received: int, offsets: Iterable[OffsetToCommit]) -> ErrorCode:
    if received == member.member_epoch:
        return ErrorCode.NONE
    if received > member.member_epoch:
        return _stale(member)
    has_each = all(_had_since(member, offset) <= received for offset in offsets)
    return ErrorCode.NONE if has_each else _stale(member)


def _stale(member: ConsumerGroupMember) -> ErrorCode:
    """Return the error of an old epoch; for a member of the classic protocol its epoch is a generation."""
    return ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION


_NEVER = 2**31


def _had_since(member: ConsumerGroupMember, offset: OffsetToCommit) -> int:
    """Return the epoch in which the member got the partition."""
    for owned in (member.assigned, member.pending_revocation):
        since = owned.get(offset.topic_id, {}).get(offset.partition)
        if since is not None:
            return since
    return _NEVER
