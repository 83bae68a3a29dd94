"""DescribeShareGroupOffsets (key 90), v0-1: where share groups (KIP-932) start, and how many records they have left.

UNSUPPORTED_VERSION without share groups. Each group has its own code: GROUP_AUTHORIZATION_FAILED, and the codes of its
coordinator. Null topics are all that the group has begun. A partition without a state has the start offset -1, without
an error, also where the group, the topic or the partition does not exist. The lag is the log end offset less the start
offset that was stored last, less the records behind it that are finished: below zero for a start offset behind the log
end, -1 if it is unknown.
Versions: 1 the lag.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from barnabas.broker.partitions.share.persister import (
    NOT_STARTED,
    UNKNOWN_COUNT,
    SharePartitionKey,
    ShareStateSummary,
)
from barnabas.broker.runtime.replies import Reply, reply_to, reply_to_all
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.security.acl.rights import refusal
from barnabas.broker.security.session.operations import Operation, Resource
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from barnabas.storage.errors import StorageError
from barnabas.storage.steps import mapped

_NO_TOPIC_ID = bytes(16)
_NO_EPOCH = -1
_FIRST_EPOCH = 0
_NO_LAG = -1
_PARTITIONS = WorkClass()


class _Place(NamedTuple):
    """A partition to describe. topic_id: None if there is no such topic."""

    topic: str
    topic_id: bytes | None
    partition: int


def handle(
    request: DescribeShareGroupOffsetsRequest, context: RequestContext
) -> DescribeShareGroupOffsetsResponse | Future[DescribeShareGroupOffsetsResponse]:
    groups = [reply_to(partial(_described, each, context), _same, partial(_failed, each)) for each in request.groups]
    return reply_to_all(groups, lambda done: DescribeShareGroupOffsetsResponse(groups=done), _unexpected)


def _described(
    requested: DescribeShareGroupOffsetsRequestGroup, context: RequestContext
) -> Reply[DescribeShareGroupOffsetsResponseGroup]:
    services, rights, group_id = context.services, context.rights, requested.group_id
    if not services.offers_share_groups:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    if rights is not None and not rights.allows(Operation.DESCRIBE, Resource.GROUP, group_id):
        raise refusal(Resource.GROUP)
    begun = services.groups.share.initialized(group_id)
    places = _places(requested, context)
    hidden = [] if rights is None else [name for name in places if not context.may_describe(name)]
    shown = [place for name, of_topic in places.items() if name not in hidden for place in of_topic]

    def summarize(place: _Place) -> Reply[ShareStateSummary] | None:
        topic = None if place.topic_id is None else begun.get(place.topic_id)
        if place.topic_id is None or topic is None or place.partition not in topic.partitions:
            return None
        return services.persister.summarize(SharePartitionKey(group_id, place.topic_id, place.partition), _NO_EPOCH)

    return reply_to(
        lambda: services.request_scheduler.in_slices(lambda: mapped(summarize, shown), _PARTITIONS),
        lambda replies: reply_to_all(replies, partial(_answer, requested, places, hidden, shown, context), _same),
    )


def _places(requested: DescribeShareGroupOffsetsRequestGroup, context: RequestContext) -> dict[str, list[_Place]]:
    catalogue = context.services.catalogue
    if requested.topics is None:
        begun = context.services.groups.share.initialized(requested.group_id)
        return {
            topic.name: [_Place(topic.name, topic_id, number) for number in sorted(topic.partitions)]
            for topic_id, topic in begun.items()
            if topic_id in catalogue.topics_by_id
        }
    found: dict[str, list[_Place]] = {}
    for named in requested.topics:
        topic = catalogue.topics.get(named.topic_name)
        topic_id = None if topic is None else topic.topic_id
        of_topic = found.setdefault(named.topic_name, [])
        of_topic += [_Place(named.topic_name, topic_id, number) for number in dict.fromkeys(named.partitions)]
    return found


def _answer(
    requested: DescribeShareGroupOffsetsRequestGroup,
    places: Mapping[str, list[_Place]],
    hidden: list[str],
    shown: list[_Place],
    context: RequestContext,
    summaries: list[ShareStateSummary | KafkaError | None],
) -> DescribeShareGroupOffsetsResponseGroup:
    by_place = dict(zip(shown, summaries, strict=True))
    not_shown = refusal(Resource.TOPIC)
    topics = []
    for name, of_topic in places.items():
        if name in hidden and requested.topics is None:
            continue
        topic_id = of_topic[0].topic_id if of_topic else None
        partitions = [
            _partition(place, not_shown if name in hidden else by_place[place], context) for place in of_topic
        ]
        topics.append(
            DescribeShareGroupOffsetsResponseTopic(
                topic_name=name,
                topic_id=_NO_TOPIC_ID if topic_id is None or name in hidden else topic_id,
                partitions=partitions,
            )
        )
    return DescribeShareGroupOffsetsResponseGroup(group_id=requested.group_id, topics=topics, error_code=ErrorCode.NONE)


def _partition(
    place: _Place, found: ShareStateSummary | KafkaError | None, context: RequestContext
) -> DescribeShareGroupOffsetsResponsePartition:
    if isinstance(found, KafkaError):
        return DescribeShareGroupOffsetsResponsePartition(
            partition_index=place.partition,
            start_offset=NOT_STARTED,
            leader_epoch=_FIRST_EPOCH,
            error_code=found.code,
            error_message=found.message,
        )
    return DescribeShareGroupOffsetsResponsePartition(
        partition_index=place.partition,
        start_offset=NOT_STARTED if found is None else found.start_offset,
        leader_epoch=_FIRST_EPOCH if found is None else found.leader_epoch,
        lag=_NO_LAG if found is None else _lag(place, found, context),
        error_code=ErrorCode.NONE,
    )


def _lag(place: _Place, found: ShareStateSummary, context: RequestContext) -> int:
    if found.start_offset == NOT_STARTED or found.delivery_complete_count == UNKNOWN_COUNT:
        return _NO_LAG
    try:
        log_end_offset = context.services.partitions.get(place.topic, place.partition).log_end_offset
    except (KafkaError, StorageError):
        return _NO_LAG
    return log_end_offset - found.start_offset - found.delivery_complete_count


def _failed(
    requested: DescribeShareGroupOffsetsRequestGroup, error: KafkaError
) -> DescribeShareGroupOffsetsResponseGroup:
    return DescribeShareGroupOffsetsResponseGroup(
        group_id=requested.group_id, topics=[], error_code=error.code, error_message=error.message
    )


def _same(value: object) -> object:
    return value


def _unexpected(error: KafkaError) -> DescribeShareGroupOffsetsResponseGroup:
    raise error
