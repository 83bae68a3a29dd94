# compiled: mypyc
"""The decisions that change committed offsets: OffsetCommit, TxnOffsetCommit, OffsetDelete, expiration, DeleteGroups.

Reading them (OffsetFetch) needs no decision: see `durable_groups.DurableGroups.committed`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from barnabas.broker.coordinator.group.decisions.classic.draft import ClassicDraft
from barnabas.broker.coordinator.group.decisions.classic.model import (
    NO_EXPIRY_MS,
    CommitRequest,
    CommittedOffset,
    Group,
    GroupConfig,
    OffsetCommitted,
    OffsetToCommit,
)
from barnabas.broker.coordinator.group.decisions.classic.sessions import still_alive
from barnabas.broker.coordinator.group.decisions.classic.states import ClassicGroupEvent, ClassicGroupState, on
from barnabas.broker.coordinator.group.decisions.classic.subscription import (
    CONSUMER_PROTOCOL_TYPE,
    subscribed_topics,
    topics_in_use,
)
from barnabas.broker.coordinator.group.decisions.group_types import AnyGroup, AnyOutcome, AnyRecord, tombstones
from barnabas.broker.coordinator.group.decisions.modern.group import ModernGroup
from barnabas.broker.coordinator.group.decisions.offsets.admission import (
    commit_refusal,
    may_have_offsets,
    transactional_refusal,
)
from barnabas.broker.coordinator.runtime.outcome import Outcome, TransactionProducer
from barnabas.broker.coordinator.runtime.partition_for import utf16
from barnabas.broker.coordinator.runtime.transitions import Say
from barnabas.protocol.errors import ErrorCode

Offsets = Mapping[str, Mapping[int, CommittedOffset]]
"""topic -> partition -> committed offset"""
Partitions = Collection[tuple[str, int]]
"""(topic, partition)"""


class GroupOffsets(NamedTuple):
    """The offsets that a group committed."""

    offsets: Mapping[str, Mapping[int, CommittedOffset]]
    """topic -> partition -> committed offset"""
    unstable: Collection[tuple[str, int]]
    """(topic, partition) with an offset in an open transaction."""


def commit(
    group: AnyGroup | None, request: CommitRequest, *, missing_group: ErrorCode, now_ms: int, config: GroupConfig
) -> AnyOutcome:
    """Decide an OffsetCommit. The reply is one error code per offset, in their order.

    `missing_group` is the error for a member of a group that does not exist; it depends on the request's version.
    """
    if isinstance(group, ModernGroup):
        error = commit_refusal(group, request, _with_good_metadata(request, config))
    else:
        error = _refusal(group, request, missing_group)
    if error is not ErrorCode.NONE:
        return Outcome(reply=tuple(error for _ in request.offsets))
    records, reply = _committed(request, now_ms, config)
    if isinstance(group, ModernGroup):
        return Outcome(records=records, reply=reply)
    counts_as_heartbeat = group is not None and request.member_id in group.members
    effects = (still_alive(group, request.member_id),) if group is not None and counts_as_heartbeat else ()
    return Outcome(records=records, reply=reply, effects=effects)


def commit_in_transaction(
    group: AnyGroup | None,
    request: CommitRequest,
    producer: TransactionProducer,
    *,
    missing_group: ErrorCode,
    now_ms: int,
    config: GroupConfig,
) -> AnyOutcome:
    """Decide a TxnOffsetCommit; reply and `missing_group` are the same as in `commit`.

    The offsets wait for the transaction's marker.

    A member or generation in the request is checked (KIP-447); a request without them may commit in any state of the
    group.
    """
    if isinstance(group, ModernGroup):
        error = transactional_refusal(group, request, _with_good_metadata(request, config))
    else:
        error = _transactional_refusal(group, request, missing_group)
    if error is not ErrorCode.NONE:
        return Outcome(reply=tuple(error for _ in request.offsets))
    records, reply = _committed(request, now_ms, config)
    return Outcome(records=records, producer=producer, reply=reply)


def _with_good_metadata(request: CommitRequest, config: GroupConfig) -> list[OffsetToCommit]:
    """Return the offsets whose metadata is accepted; only these have to be the member's own."""
    limit = config.offset_metadata_max_bytes
    return [each for each in request.offsets if _check_metadata(each.metadata, limit) is ErrorCode.NONE]


def _committed(
    request: CommitRequest, now_ms: int, config: GroupConfig
) -> tuple[tuple[OffsetCommitted, ...], tuple[ErrorCode, ...]]:
    """Return the records of the accepted offsets, and one code per offset."""
    reply = tuple(_check_metadata(offset.metadata, config.offset_metadata_max_bytes) for offset in request.offsets)
    records = tuple(
        OffsetCommitted(request.group_id, offset.topic, offset.partition, _as_committed(offset, now_ms))
        for offset, code in zip(request.offsets, reply, strict=True)
        if code is ErrorCode.NONE
    )
    return records, reply


def _transactional_refusal(group: Group | None, request: CommitRequest, missing_group: ErrorCode) -> ErrorCode:
    """Return the error of a TxnOffsetCommit, checked in Kafka's order, or NONE."""
    if group is None:
        return missing_group if request.generation_id >= 0 else ErrorCode.NONE
    if group.state is ClassicGroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if request.generation_id < 0 and group.state is ClassicGroupState.EMPTY:
        return ErrorCode.NONE
    if request.generation_id < 0 and not request.member_id and request.group_instance_id is None:
        return ErrorCode.NONE
    return group.check_generation(request.member_id, request.group_instance_id, request.generation_id)


def _refusal(group: Group | None, request: CommitRequest, missing_group: ErrorCode) -> ErrorCode:
    """Return the request's error, checked in Kafka's order, or NONE. Without members any client may commit."""
    if group is None:
        return missing_group if request.generation_id >= 0 else ErrorCode.NONE
    if group.state is ClassicGroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if request.generation_id < 0 and group.state is ClassicGroupState.EMPTY:
        return ErrorCode.NONE
    if request.generation_id < 0 and not request.member_id and request.group_instance_id is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    error = group.check_generation(request.member_id, request.group_instance_id, request.generation_id)
    if error is not ErrorCode.NONE:
        return error
    meaning = on(group.state, ClassicGroupEvent.MEMBER_COMMIT)
    return meaning.code if isinstance(meaning, Say) else ErrorCode.NONE


def _check_metadata(metadata: str, max_units: int) -> ErrorCode:
    """Return the error of too long metadata; `offset.metadata.max.bytes` counts UTF-16 units, despite its name."""
    if len(metadata) * 2 <= max_units or len(utf16(metadata)) <= max_units * 2:
        return ErrorCode.NONE
    return ErrorCode.OFFSET_METADATA_TOO_LARGE


def _as_committed(offset: OffsetToCommit, now_ms: int) -> CommittedOffset:
    return CommittedOffset(
        offset.offset, offset.leader_epoch, offset.metadata, now_ms, offset.expire_timestamp_ms, offset.topic_id
    )


def delete_offsets(
    group: AnyGroup | None, offsets: Offsets, wanted: Sequence[tuple[str, int]], *, unstable: Partitions = ()
) -> tuple[ErrorCode, AnyOutcome]:
    """Decide an OffsetDelete: an error for the whole group, or an outcome with one code per wanted partition.

    `unstable` are partitions with an offset in an open transaction, which is deleted too.
    """
    if group is None or group.state is ClassicGroupState.DEAD or not may_have_offsets(group):
        return ErrorCode.GROUP_ID_NOT_FOUND, Outcome()
    if isinstance(group, Group) and group.members and group.protocol_type != CONSUMER_PROTOCOL_TYPE:
        return ErrorCode.NON_EMPTY_GROUP, Outcome()
    topics = {topic for topic, _ in wanted}
    if isinstance(group, ModernGroup):
        in_use: Collection[str] = set(filter(group.is_subscribed_to, topics))
    else:
        in_use = topics_in_use(group, topics)
    reply = tuple(ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if topic in in_use else ErrorCode.NONE for topic, _ in wanted)
    records = tuple(
        OffsetCommitted(group.group_id, topic, partition, None)
        for topic, partition in dict.fromkeys(wanted)
        if topic not in in_use and (partition in offsets.get(topic, {}) or (topic, partition) in unstable)
    )
    return ErrorCode.NONE, Outcome(records=records, reply=reply)


def delete_group(group: AnyGroup | None, offsets: Offsets, *, unstable: Partitions = (), now_ms: int) -> AnyOutcome:
    """Decide the deletion of a group. The reply is an error code; only an empty group can be deleted.

    Its offsets in open transactions (`unstable`) are deleted with it.
    """
    if group is None:
        return Outcome(reply=ErrorCode.GROUP_ID_NOT_FOUND)
    if isinstance(group, ModernGroup):
        if group.members:
            return Outcome(reply=ErrorCode.NON_EMPTY_GROUP)
    elif isinstance(meaning := on(group.state, ClassicGroupEvent.DELETED), Say):
        return Outcome(reply=meaning.code)
    return _buried(group, offsets, now_ms, unstable)._replace(reply=ErrorCode.NONE)


def _buried(group: AnyGroup, offsets: Offsets, now_ms: int, unstable: Partitions = ()) -> AnyOutcome:
    """Return the outcome that deletes a group and all its offsets."""
    partitions = dict.fromkeys((topic, partition) for topic in offsets for partition in offsets[topic])
    records: list[AnyRecord] = [
        OffsetCommitted(group.group_id, topic, partition, None)
        for topic, partition in {**partitions, **dict.fromkeys(unstable)}
    ]
    records += tombstones(group)
    if isinstance(group, ModernGroup):
        return Outcome(records=tuple(records))
    draft = ClassicDraft(group, now_ms)
    draft.transition(ClassicGroupEvent.DELETED)
    return Outcome(records=tuple(records), volatile=draft.group)


def expire(group: AnyGroup, offsets: Offsets, *, unstable: Partitions, now_ms: int, config: GroupConfig) -> AnyOutcome:
    """Decide which commits have expired, and whether the group is deleted with its last one.

    `unstable` are partitions with an offset in an open transaction: neither they nor their group expire.
    """
    expired = [partition for partition in _expired(group, offsets, now_ms, config) if partition not in unstable]
    is_deserted = not group.members and not unstable and may_have_offsets(group)
    if isinstance(group, Group):
        is_deserted = is_deserted and group.state is ClassicGroupState.EMPTY and not group.pending
    if is_deserted and len(expired) == sum(map(len, offsets.values())):
        return _buried(group, offsets, now_ms)
    records: tuple[AnyRecord, ...] = tuple(
        OffsetCommitted(group.group_id, topic, partition, None) for topic, partition in expired
    )
    return Outcome(records=records)


def _expired(group: AnyGroup, offsets: Offsets, now_ms: int, config: GroupConfig) -> Iterator[tuple[str, int]]:
    """Yield the partitions of expired commits. The client's own expiration time overrides the broker's retention."""
    since_emptied = False
    subscribed: Collection[str] | None = ()
    if isinstance(group, ModernGroup):
        subscribed = group.subscribed_topics()
    elif group.protocol_type or group.members:
        since_emptied = group.state is ClassicGroupState.EMPTY and group.state_timestamp_ms >= 0
        if group.state is not ClassicGroupState.EMPTY:
            subscribed = subscribed_topics(group) if group.state is ClassicGroupState.STABLE else None
    if subscribed is None:
        return  # it is unknown what the members still need
    for topic in offsets.keys() - set(subscribed):
        for partition, committed in offsets[topic].items():
            since_ms = committed.commit_timestamp_ms
            if since_emptied and isinstance(group, Group):
                since_ms = group.state_timestamp_ms
            expires_ms = since_ms + config.offsets_retention_ms
            if committed.expire_timestamp_ms != NO_EXPIRY_MS:
                expires_ms = committed.expire_timestamp_ms
            if now_ms >= expires_ms:
                yield topic, partition
