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
from typing import NamedTuple, TypeAlias, TypeVar

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
from barnabas.storage.steps import Pauses, Steps, mapped

_NO_TOPIC_ID = bytes(16)
_NO_EPOCH = -1
_FIRST_EPOCH = 0
_NO_LAG = -1
_SLICES = WorkClass()
_ONCE = WorkClass(may_begin_again=False)
_PARTITIONS_AT_ONCE = 20

T = TypeVar("T")
_Found: TypeAlias = ShareStateSummary | KafkaError | None
"""The state of a share partition, or why it cannot be read; None without a state."""


class _Place(NamedTuple):
    """A partition to describe. topic_id: None if there is no such topic."""

    topic: str
    topic_id: bytes | None
    partition: int


class _Described(NamedTuple):
    """The partitions of one group by topic, the topics that the client may not see, and the states of the others."""

    places: Mapping[str, list[_Place]]
    hidden: frozenset[str]
    shown: list[_Place]
    summaries: list[Reply[ShareStateSummary] | None]


def handle(
    request: DescribeShareGroupOffsetsRequest, context: RequestContext
) -> DescribeShareGroupOffsetsResponse | Future[DescribeShareGroupOffsetsResponse]:
    def describe(requested: DescribeShareGroupOffsetsRequestGroup) -> Reply[DescribeShareGroupOffsetsResponseGroup]:
        return reply_to(partial(_described, requested, context), _same, partial(_failed, requested))

    return reply_to(
        lambda: context.services.request_scheduler.in_slices(lambda: mapped(describe, request.groups, 1), _SLICES),
        lambda replies: reply_to_all(
            replies, lambda groups: DescribeShareGroupOffsetsResponse(groups=groups), _unexpected
        ),
    )


def _described(
    requested: DescribeShareGroupOffsetsRequestGroup, context: RequestContext
) -> Reply[DescribeShareGroupOffsetsResponseGroup]:
    services, rights, group_id = context.services, context.rights, requested.group_id
    if not services.offers_share_groups:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    if rights is not None and not rights.allows(Operation.DESCRIBE, Resource.GROUP, group_id):
        raise refusal(Resource.GROUP)

    def answer(described: _Described) -> Reply[DescribeShareGroupOffsetsResponseGroup]:
        return reply_to(
            lambda: reply_to_all(described.summaries, _all_found, _refused),
            lambda summaries: in_slices(_answer(requested, described, summaries, context)),
        )

    def in_slices(steps: Steps[T]) -> Reply[T]:
        return services.request_scheduler.in_slices(lambda: steps, _ONCE)

    return reply_to(lambda: in_slices(_summarized(requested, context)), answer)


def _summarized(requested: DescribeShareGroupOffsetsRequestGroup, context: RequestContext) -> Steps[_Described]:
    """Ask the share coordinators for the state of each partition that the group has begun."""
    services, group_id = context.services, requested.group_id
    begun = services.groups.share.initialized(group_id)
    places = yield from _places(requested, context)
    hidden = frozenset[str]()
    if context.rights is not None:
        may_describe = yield from mapped(context.may_describe, places)
        hidden = frozenset(name for name, is_shown in zip(places, may_describe, strict=True) if not is_shown)
    shown = [place for name, of_topic in places.items() if name not in hidden for place in of_topic]

    def summarize(place: _Place) -> Reply[ShareStateSummary] | None:
        topic = None if place.topic_id is None else begun.get(place.topic_id)
        if place.topic_id is None or topic is None or place.partition not in topic.partitions:
            return None
        return services.persister.summarize(SharePartitionKey(group_id, place.topic_id, place.partition), _NO_EPOCH)

    return _Described(places, hidden, shown, (yield from mapped(summarize, shown)))


def _places(
    requested: DescribeShareGroupOffsetsRequestGroup, context: RequestContext
) -> Steps[dict[str, list[_Place]]]:
    catalogue = context.services.catalogue
    found: dict[str, list[_Place]] = {}
    pauses = Pauses()
    if requested.topics is None:
        for begun_id, begun in list(context.services.groups.share.initialized(requested.group_id).items()):
            if begun_id in catalogue.topics_by_id:
                found[begun.name] = [_Place(begun.name, begun_id, number) for number in sorted(begun.partitions)]
            if pauses.is_due(len(begun.partitions)):
                yield
        return found
    for named in requested.topics:
        topic = catalogue.topics.get(named.topic_name)
        topic_id = None if topic is None else topic.topic_id
        of_topic = found.setdefault(named.topic_name, [])
        of_topic += [_Place(named.topic_name, topic_id, number) for number in dict.fromkeys(named.partitions)]
        if pauses.is_due(1 + len(named.partitions)):
            yield
    return found


def _answer(
    requested: DescribeShareGroupOffsetsRequestGroup,
    described: _Described,
    summaries: list[_Found],
    context: RequestContext,
) -> Steps[DescribeShareGroupOffsetsResponseGroup]:
    by_place = dict(zip(described.shown, summaries, strict=True))
    not_shown = refusal(Resource.TOPIC)
    topics = []
    for name, of_topic in described.places.items():
        is_hidden = name in described.hidden
        if is_hidden and requested.topics is None:
            continue
        topic_id = of_topic[0].topic_id if of_topic else None
        partitions = []
        for place in of_topic:
            partitions.append(_partition(place, not_shown if is_hidden else by_place[place], context))
            if not len(partitions) % _PARTITIONS_AT_ONCE:
                yield
        topics.append(
            DescribeShareGroupOffsetsResponseTopic(
                topic_name=name,
                topic_id=_NO_TOPIC_ID if topic_id is None or is_hidden else topic_id,
                partitions=partitions,
            )
        )
        if not len(topics) % _PARTITIONS_AT_ONCE:
            yield
    return DescribeShareGroupOffsetsResponseGroup(group_id=requested.group_id, topics=topics, error_code=ErrorCode.NONE)


def _partition(place: _Place, found: _Found, context: RequestContext) -> DescribeShareGroupOffsetsResponsePartition:
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
        log_end_offset = context.services.led_by_any.get(place.topic, place.partition).log_end_offset
    except (KafkaError, StorageError):
        return _NO_LAG
    return log_end_offset - found.start_offset - found.delivery_complete_count


def _failed(
    requested: DescribeShareGroupOffsetsRequestGroup, error: KafkaError
) -> DescribeShareGroupOffsetsResponseGroup:
    return DescribeShareGroupOffsetsResponseGroup(
        group_id=requested.group_id, topics=[], error_code=error.code, error_message=error.message
    )


def _same(value: T) -> T:
    return value


def _all_found(found: list[_Found]) -> list[_Found]:
    return found


def _refused(error: KafkaError) -> _Found:
    return error


def _unexpected(error: KafkaError) -> DescribeShareGroupOffsetsResponseGroup:
    raise error
