"""DeleteShareGroupOffsets (key 92), v0: delete the states of topics of an empty share group (KIP-932).

The group begins such a topic again where its `share.auto.offset.reset` says. At the top: UNSUPPORTED_VERSION without
share groups, INVALID_GROUP_ID, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP, and the codes of the coordinator; then no topic is
listed. For a topic: UNKNOWN_TOPIC_OR_PARTITION, also where the group has no state of it, and the errors of the
persister. A topic that is named twice is answered once.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.broker.api.current_request import keep_current_request
from barnabas.broker.runtime.replies import Reply, reply_to
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)
from barnabas.protocol.primitives import ZERO_UUID
from barnabas.storage.steps import Steps

_NOT_HERE = "This server does not host this topic-partition."
_TopicIds = dict[str, bytes | None]
"""The id of each requested topic; None for one that does not exist."""


def handle(request: DeleteShareGroupOffsetsRequest, context: RequestContext) -> Reply[DeleteShareGroupOffsetsResponse]:
    return reply_to(lambda: _deleted(request, context), lambda response: response, _refused)


def _deleted(
    request: DeleteShareGroupOffsetsRequest, context: RequestContext
) -> Reply[DeleteShareGroupOffsetsResponse]:
    services = context.services
    if not services.offers_share_groups:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    as_current_request = keep_current_request(services)
    in_slices = services.request_scheduler.in_slices

    def delete(known: _TopicIds) -> Reply[DeleteShareGroupOffsetsResponse]:
        topic_ids = [topic_id for topic_id in known.values() if topic_id is not None]
        return reply_to(
            lambda: as_current_request(lambda: services.groups.share.delete_offsets(request.group_id, topic_ids)),
            lambda refusals: in_slices(lambda: _response(known, refusals)),
        )

    return reply_to(lambda: in_slices(lambda: _known_topics(request, context)), delete)


def _known_topics(request: DeleteShareGroupOffsetsRequest, context: RequestContext) -> Steps[_TopicIds]:
    found: _TopicIds = {}
    for each in request.topics:
        topic = context.services.catalogue.topics.get(each.topic_name)
        found[each.topic_name] = None if topic is None else topic.topic_id
        yield
    return found


def _response(known: _TopicIds, refusals: Mapping[bytes, KafkaError]) -> Steps[DeleteShareGroupOffsetsResponse]:
    no_such_topic = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, _NOT_HERE)
    rows = []
    for name, topic_id in known.items():
        rows.append(_topic(name, topic_id, no_such_topic if topic_id is None else refusals.get(topic_id)))
        yield
    return DeleteShareGroupOffsetsResponse(error_code=ErrorCode.NONE, responses=rows)


def _topic(name: str, topic_id: bytes | None, refusal: KafkaError | None) -> DeleteShareGroupOffsetsResponseTopic:
    if topic_id is not None and refusal is None:
        return DeleteShareGroupOffsetsResponseTopic(topic_name=name, topic_id=topic_id, error_code=ErrorCode.NONE)
    assert refusal is not None, "a topic that does not exist is refused"
    return DeleteShareGroupOffsetsResponseTopic(
        topic_name=name, topic_id=ZERO_UUID, error_code=refusal.code, error_message=refusal.message
    )


def _refused(refusal: KafkaError) -> DeleteShareGroupOffsetsResponse:
    return DeleteShareGroupOffsetsResponse(error_code=refusal.code, error_message=refusal.message, responses=[])
