"""OffsetFetch (key 9), v1-10: the committed offsets of groups.

An unknown group, or a partition without a commit, is no error: the offset is -1. Partitions need not exist. Topics null
(v2 and later) means all. RequireStable (v7): a partition with an offset in an open transaction is answered
UNSTABLE_OFFSET_COMMIT, and the client retries. A request that names a member of a consumer group (v9) must have the
member's epoch: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH. v1-7 name one group, v8 and later many, each with its own error;
v10 names topics by id, and an offset that was committed for an earlier topic of the same name does not count. A request
for very many groups or partitions is answered in slices, each group in its state at one moment.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Collection, Iterator, Mapping

from barnabas.broker.coordinator.group.decisions.classic.model import (
    NO_LEADER_EPOCH,
    NO_OFFSET,
    NO_TOPIC_ID,
    CommittedOffset,
)
from barnabas.broker.coordinator.group.decisions.offsets.committed_offsets import GroupOffsets
from barnabas.broker.coordinator.runtime.replies_after_sync import once_synced
from barnabas.broker.runtime.replies import Reply, reply_to
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.services import RequestContext
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
from barnabas.storage.steps import AT_ONCE, Pauses, Steps

_GROUP_ERROR_SINCE = 2
_BATCHED_SINCE = 8
_TOPIC_IDS_SINCE = 10

_GROUPS = WorkClass()

_NOTHING = CommittedOffset(NO_OFFSET, NO_LEADER_EPOCH, "", 0)


def handle(request: OffsetFetchRequest, context: RequestContext) -> Reply[OffsetFetchResponse]:
    return reply_to(
        lambda: context.services.request_scheduler.in_slices(lambda: _answer(request, context), _GROUPS),
        lambda answer: once_synced(*answer),
    )


def _answer(
    request: OffsetFetchRequest, context: RequestContext
) -> Steps[tuple[OffsetFetchResponse, list[Future[None]]]]:
    """Return the response, and the futures that it has to wait for."""
    groups: list[OffsetFetchResponseGroup] = []
    pauses = Pauses()
    unsynced: dict[Future[None], None] = {}
    for requested in _requested(request, context.api_version):
        unsynced.update(dict.fromkeys(context.services.groups.unsynced((requested.group_id,))))
        groups.append((yield from _group(requested, request.require_stable, context)))
        if pauses.is_due(1 + sum(len(topic.partitions) for topic in groups[-1].topics)):
            yield
    if context.api_version >= _BATCHED_SINCE:
        return OffsetFetchResponse(groups=groups), list(unsynced)
    return (yield from _flat(groups[0])), list(unsynced)


def _requested(request: OffsetFetchRequest, version: int) -> list[OffsetFetchRequestGroup]:
    """Return the requested groups, in the form of the newest version."""
    if version >= _BATCHED_SINCE:
        return request.groups
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    return [OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)]


def _group(
    requested: OffsetFetchRequestGroup, require_stable: bool, context: RequestContext
) -> Steps[OffsetFetchResponseGroup]:
    """Return the offsets of the group at one moment, however long it takes to build the answer."""
    try:
        found = context.services.groups.fetch_offsets(requested.group_id, requested.member_id, requested.member_epoch)
    except KafkaError as error:
        return _failed(requested, error.code, context.api_version)
    if not require_stable:
        found = found._replace(unstable=())
    if requested.topics is None or sum(1 + len(topic.partition_indexes) for topic in requested.topics) > AT_ONCE:
        # There are pauses, in which the group may commit.
        copied = {topic: dict(committed) for topic, committed in found.offsets.items()}
        found = GroupOffsets(copied, frozenset(found.unstable))
    pauses = Pauses()
    if requested.topics is None:
        topic_steps = _everything(found, pauses, context)
    else:
        topic_steps = (_topic(topic, found, pauses, context) for topic in requested.topics)
    topics: list[OffsetFetchResponseTopics] = []
    for steps in topic_steps:
        topics.append((yield from steps))
        if pauses.is_due():
            yield
    return OffsetFetchResponseGroup(group_id=requested.group_id, topics=topics)


def _topic(
    requested: OffsetFetchRequestTopics, found: GroupOffsets, pauses: Pauses, context: RequestContext
) -> Steps[OffsetFetchResponseTopics]:
    topic_id, name, is_unknown = requested.topic_id, requested.name, False
    if context.api_version >= _TOPIC_IDS_SINCE:
        topic = context.services.catalogue.topics_by_id.get(topic_id)
        is_unknown = topic is None
        name = "" if topic is None else topic.name
    committed = found.offsets.get(name, {})
    partitions: list[OffsetFetchResponsePartitions] = []
    for index in requested.partition_indexes:
        if is_unknown:
            partitions.append(_partition(index, _NOTHING, ErrorCode.UNKNOWN_TOPIC_ID))
        else:
            offset = _of_topic(committed.get(index, _NOTHING), topic_id)
            partitions.append(_stable(index, offset, (name, index) in found.unstable))
        if pauses.is_due():
            yield
    return OffsetFetchResponseTopics(name=requested.name, topic_id=topic_id, partitions=partitions)


def _everything(
    found: GroupOffsets, pauses: Pauses, context: RequestContext
) -> Iterator[Steps[OffsetFetchResponseTopics]]:
    for name, committed in found.offsets.items():
        topic = context.services.catalogue.topics.get(name)
        if topic is not None or context.api_version < _TOPIC_IDS_SINCE:  # without an id it cannot be named there
            topic_id = NO_TOPIC_ID if topic is None else topic.topic_id
            yield _whole_topic(name, topic_id, committed, found.unstable, pauses)


def _whole_topic(
    name: str,
    topic_id: bytes,
    committed: Mapping[int, CommittedOffset],
    unstable: Collection[tuple[str, int]],
    pauses: Pauses,
) -> Steps[OffsetFetchResponseTopics]:
    partitions: list[OffsetFetchResponsePartitions] = []
    for index, offset in committed.items():
        partitions.append(_stable(index, offset, (name, index) in unstable))
        if pauses.is_due():
            yield
    return OffsetFetchResponseTopics(name=name, topic_id=topic_id, partitions=partitions)


def _of_topic(committed: CommittedOffset, topic_id: bytes) -> CommittedOffset:
    """Return the commit, unless it was for an earlier topic of the same name."""
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


def _failed(requested: OffsetFetchRequestGroup, code: ErrorCode, version: int) -> OffsetFetchResponseGroup:
    """Return one group's error; v1 has a field for it only in the partitions."""
    topics = []
    if version < _GROUP_ERROR_SINCE:
        topics = [
            OffsetFetchResponseTopics(
                name=topic.name, partitions=[_partition(index, _NOTHING, code) for index in topic.partition_indexes]
            )
            for topic in requested.topics or ()
        ]
    return OffsetFetchResponseGroup(group_id=requested.group_id, topics=topics, error_code=code)


def _flat(group: OffsetFetchResponseGroup) -> Steps[OffsetFetchResponse]:
    """Return the answer of v1-7: the fields of the only group at the top."""
    topics: list[OffsetFetchResponseTopic] = []
    pauses = Pauses()
    for topic in group.topics:
        partitions: list[OffsetFetchResponsePartition] = []
        topics.append(OffsetFetchResponseTopic(name=topic.name, partitions=partitions))
        for partition in topic.partitions:
            partitions.append(
                OffsetFetchResponsePartition(
                    partition_index=partition.partition_index,
                    committed_offset=partition.committed_offset,
                    committed_leader_epoch=partition.committed_leader_epoch,
                    metadata=partition.metadata,
                    error_code=partition.error_code,
                )
            )
            if pauses.is_due():
                yield
    return OffsetFetchResponse(error_code=group.error_code, topics=topics)
