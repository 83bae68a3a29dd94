"""AlterShareGroupOffsets (key 91), v0: set where an empty share group starts, by partition (KIP-932).

At the top: UNSUPPORTED_VERSION without share groups, INVALID_GROUP_ID, NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND for a group
of another type, and the codes of the coordinator; then no partition is listed. An unknown group is created. For a
partition: UNKNOWN_TOPIC_OR_PARTITION, and the errors of the persister. Any offset is accepted, also one that the log
does not have; with -1 the group begins again where its `share.auto.offset.reset` says. A partition that is named twice
is answered twice; its last offset counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.broker.api.current_request import keep_current_request
from barnabas.broker.runtime.replies import Reply, reply_to
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from barnabas.protocol.primitives import ZERO_UUID
from barnabas.storage.steps import Pauses, Steps

_NOT_HERE = "This server does not host this topic-partition."
_Answers = dict[str, AlterShareGroupOffsetsResponseTopic]


class _Validated(NamedTuple):
    """The answers by topic as far as they are known, and the offsets to set by (topic id, partition)."""

    answers: _Answers
    offsets: dict[tuple[bytes, int], int]


def handle(request: AlterShareGroupOffsetsRequest, context: RequestContext) -> Reply[AlterShareGroupOffsetsResponse]:
    return reply_to(lambda: _altered(request, context), lambda response: response, _refused)


def _altered(request: AlterShareGroupOffsetsRequest, context: RequestContext) -> Reply[AlterShareGroupOffsetsResponse]:
    services = context.services
    if not services.offers_share_groups:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    as_current_request = keep_current_request(services)

    def alter(validated: _Validated) -> Reply[AlterShareGroupOffsetsResponse]:
        return reply_to(
            lambda: as_current_request(lambda: services.groups.share.alter(request.group_id, validated.offsets)),
            lambda refusals: _response(validated.answers, refusals),
        )

    return reply_to(lambda: services.request_scheduler.in_slices(lambda: _validate(request, context)), alter)


def _validate(request: AlterShareGroupOffsetsRequest, context: RequestContext) -> Steps[_Validated]:
    answers: _Answers = {}
    offsets: dict[tuple[bytes, int], int] = {}
    pauses = Pauses()
    for requested in request.topics:
        topic = context.services.catalogue.topics.get(requested.topic_name)
        answer = answers.setdefault(
            requested.topic_name,
            AlterShareGroupOffsetsResponseTopic(
                topic_name=requested.topic_name,
                topic_id=ZERO_UUID if topic is None else topic.topic_id,
                partitions=[],
            ),
        )
        for each in requested.partitions:
            if topic is not None and 0 <= each.partition_index < len(topic.partitions):
                offsets[topic.topic_id, each.partition_index] = each.start_offset
                answer.partitions.append(_answer(each.partition_index))
            else:
                unknown = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, _NOT_HERE)
                answer.partitions.append(_answer(each.partition_index, unknown))
            if pauses.is_due():
                yield
    return _Validated(answers, offsets)


def _answer(partition: int, refusal: KafkaError | None = None) -> AlterShareGroupOffsetsResponsePartition:
    if refusal is None:
        return AlterShareGroupOffsetsResponsePartition(partition_index=partition, error_code=ErrorCode.NONE)
    return AlterShareGroupOffsetsResponsePartition(
        partition_index=partition, error_code=refusal.code, error_message=refusal.message
    )


def _response(answers: _Answers, refusals: Mapping[tuple[bytes, int], KafkaError]) -> AlterShareGroupOffsetsResponse:
    if refusals:
        for topic in answers.values():
            topic.partitions = [
                _answer(each.partition_index, refusals[place])
                if (place := (topic.topic_id, each.partition_index)) in refusals
                else each
                for each in topic.partitions
            ]
    return AlterShareGroupOffsetsResponse(error_code=ErrorCode.NONE, responses=list(answers.values()))


def _refused(refusal: KafkaError) -> AlterShareGroupOffsetsResponse:
    return AlterShareGroupOffsetsResponse(error_code=refusal.code, error_message=refusal.message, responses=[])
