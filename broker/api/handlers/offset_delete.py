"""OffsetDelete (key 47), v0: delete the committed offsets of a group for some partitions.

The group as a whole: INVALID_GROUP_ID, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP (classic members that are no consumers).
Each partition: UNKNOWN_TOPIC_OR_PARTITION, GROUP_SUBSCRIBED_TO_TOPIC while a member reads the topic; NONE also if
nothing was committed. The decision is in coordinator/group/decisions/offsets.
"""

from __future__ import annotations

from asyncio import Future

from barnabas.broker.api.current_request import keep_current_request
from barnabas.broker.runtime.replies import Reply, reply_to
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from barnabas.storage.steps import Pauses, Steps

Codes = tuple[ErrorCode, ...]
Validated = tuple[OffsetDeleteResponse, list[tuple[str, int]], list[OffsetDeleteResponsePartition]]
"""The response as far as it is known, the partitions to delete, and the partitions that wait for their codes."""


def handle(
    request: OffsetDeleteRequest, context: RequestContext
) -> OffsetDeleteResponse | Future[OffsetDeleteResponse]:
    as_current_request = keep_current_request(context.services)

    def delete(validated: Validated) -> Reply[OffsetDeleteResponse]:
        response, wanted, awaited = validated
        return reply_to(
            lambda: as_current_request(lambda: context.services.groups.delete_offsets(request.group_id, wanted)),
            lambda codes: _filled(response, awaited, codes),
            lambda refusal: OffsetDeleteResponse(error_code=refusal.code, topics=[]),
        )

    return reply_to(lambda: context.services.request_scheduler.in_slices(lambda: _validate(request, context)), delete)


def _validate(request: OffsetDeleteRequest, context: RequestContext) -> Steps[Validated]:
    wanted: list[tuple[str, int]] = []
    awaited: list[OffsetDeleteResponsePartition] = []
    topics: list[OffsetDeleteResponseTopic] = []
    pauses = Pauses()
    for requested in request.topics:
        topic = context.services.catalogue.topics.get(requested.name)
        answers = []
        for partition in requested.partitions:
            index = partition.partition_index
            answer = OffsetDeleteResponsePartition(partition_index=index, error_code=ErrorCode.NONE)
            if topic is None or not 0 <= index < len(topic.partitions):
                answer.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                wanted.append((requested.name, index))
                awaited.append(answer)
            answers.append(answer)
            if pauses.is_due():
                yield
        topics.append(OffsetDeleteResponseTopic(name=requested.name, partitions=answers))
    return OffsetDeleteResponse(error_code=ErrorCode.NONE, topics=topics), wanted, awaited


def _filled(
    response: OffsetDeleteResponse, awaited: list[OffsetDeleteResponsePartition], codes: Codes
) -> OffsetDeleteResponse:
    for answer, code in zip(awaited, codes, strict=True):
        answer.error_code = code
    return response
