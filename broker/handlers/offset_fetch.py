"""OffsetFetch (key 9), v1-10: how far a group has read, as far as it said so.

A group nobody knows, or a partition nobody committed, is no error: the offset is -1. Partitions need not exist.
Topics null (v2 and later) asks for everything. RequireStable (v7): a partition with an offset in an open transaction
is answered UNSTABLE_OFFSET_COMMIT, ask again. A member of a consumer group that names itself (v9) has to speak of
its epoch: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH. v1-7 ask for one group, v8 and later for many, each with an error of
its own; v10 names topics by id, and an offset that was committed for an earlier topic of the same name does not
count.
"""

from __future__ import annotations

from collections.abc import Collection

from barnabas.broker.context import RequestContext
from barnabas.broker.coordinator.group.classic.model import NO_LEADER_EPOCH, NO_OFFSET, NO_TOPIC_ID, CommittedOffset
from barnabas.broker.coordinator.group.offsets.offsets import GroupOffsets
from barnabas.broker.coordinator.runtime.waiting import once_synced
from barnabas.broker.replies import Reply
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

_GROUP_ERROR_SINCE = 2
_BATCHED_SINCE = 8
_TOPIC_IDS_SINCE = 10

_NOTHING = CommittedOffset(NO_OFFSET, NO_LEADER_EPOCH, "", 0)


def handle(request: OffsetFetchRequest, context: RequestContext) -> Reply[OffsetFetchResponse]:
    groups = [_group(group, request.require_stable, context) for group in _asked(request, context.api_version)]
    response = OffsetFetchResponse(groups=groups) if context.api_version >= _BATCHED_SINCE else _flat(groups[0])
    return once_synced(response, context.services.groups.unsynced(group.group_id for group in groups))


def _asked(request: OffsetFetchRequest, version: int) -> list[OffsetFetchRequestGroup]:
    """What is asked, in the form of the newest version."""
    if version >= _BATCHED_SINCE:
        return request.groups
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    return [OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)]


def _group(asked: OffsetFetchRequestGroup, require_stable: bool, context: RequestContext) -> OffsetFetchResponseGroup:
    try:
        found = context.services.groups.fetch_offsets(asked.group_id, asked.member_id, asked.member_epoch)
    except KafkaError as error:
        return _failed(asked, error.code, context.api_version)
    unstable = found.unstable if require_stable else ()
    if asked.topics is None:
        topics = _everything(found, unstable, context)
    else:
        topics = [_topic(topic, found, unstable, context) for topic in asked.topics]
    return OffsetFetchResponseGroup(group_id=asked.group_id, topics=topics)


def _topic(
    asked: OffsetFetchRequestTopics,
    found: GroupOffsets,
    unstable: Collection[tuple[str, int]],
    context: RequestContext,
) -> OffsetFetchResponseTopics:
    name = asked.name
    if context.api_version >= _TOPIC_IDS_SINCE:
        topic = context.services.catalogue.topics_by_id.get(asked.topic_id)
        if topic is None:
            partitions = [_partition(index, _NOTHING, ErrorCode.UNKNOWN_TOPIC_ID) for index in asked.partition_indexes]
            return OffsetFetchResponseTopics(topic_id=asked.topic_id, partitions=partitions)
        name = topic.name
    committed = found.offsets.get(name, {})
    return OffsetFetchResponseTopics(
        name=asked.name,
        topic_id=asked.topic_id,
        partitions=[
            _stable(index, _of_topic(committed.get(index, _NOTHING), asked.topic_id), (name, index) in unstable)
            for index in asked.partition_indexes
        ],
    )


def _everything(
    found: GroupOffsets, unstable: Collection[tuple[str, int]], context: RequestContext
) -> list[OffsetFetchResponseTopics]:
    topics = []
    for name, committed in found.offsets.items():
        topic = context.services.catalogue.topics.get(name)
        if topic is None and context.api_version >= _TOPIC_IDS_SINCE:
            continue  # a topic without an id cannot be named
        topics.append(
            OffsetFetchResponseTopics(
                name=name,
                topic_id=NO_TOPIC_ID if topic is None else topic.topic_id,
                partitions=[_stable(index, offset, (name, index) in unstable) for index, offset in committed.items()],
            )
        )
    return topics


def _of_topic(committed: CommittedOffset, topic_id: bytes) -> CommittedOffset:
    """The commit, unless it was for an earlier topic of the same name."""
    is_other = topic_id != NO_TOPIC_ID and committed.topic_id not in (NO_TOPIC_ID, topic_id)
    return _NOTHING if is_other else committed


def _stable(index: int, committed: CommittedOffset, is_unstable: bool) -> OffsetFetchResponsePartitions:
    if is_unstable:
        return _partition(index, _NOTHING, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    return _partition(index, committed, ErrorCode.NONE)


def _partition(index: int, committed: CommittedOffset, code: ErrorCode) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        error_code=code,
    )


def _failed(asked: OffsetFetchRequestGroup, code: ErrorCode, version: int) -> OffsetFetchResponseGroup:
    """One group's error; v1 has no place for it but the partitions."""
    topics = []
    if version < _GROUP_ERROR_SINCE:
        topics = [
            OffsetFetchResponseTopics(
                name=topic.name, partitions=[_partition(index, _NOTHING, code) for index in topic.partition_indexes]
            )
            for topic in asked.topics or ()
        ]
    return OffsetFetchResponseGroup(group_id=asked.group_id, topics=topics, error_code=code)


def _flat(group: OffsetFetchResponseGroup) -> OffsetFetchResponse:
    """The answer of v1-7: the fields of the only group at the top."""
    return OffsetFetchResponse(
        error_code=group.error_code,
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=partition.partition_index,
                        committed_offset=partition.committed_offset,
                        committed_leader_epoch=partition.committed_leader_epoch,
                        metadata=partition.metadata,
                        error_code=partition.error_code,
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in group.topics
        ],
    )
