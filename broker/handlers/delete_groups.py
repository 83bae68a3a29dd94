"""DeleteGroups (key 42), v0-3: groups without members go, with all they committed.

Each group has its own code: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP. One that is named twice is answered once, as by
Kafka. The decision is in coordinator/group/offsets. Versions: 3 has room for a message, which Kafka leaves empty for
such groups, too: it is for those that a plug-in of streams groups (KIP-1331) would not let go.
"""

from __future__ import annotations

from asyncio import Future

from barnabas.broker.context import RequestContext
from barnabas.broker.replies import reply_to_all
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse


def handle(
    request: DeleteGroupsRequest, context: RequestContext
) -> DeleteGroupsResponse | Future[DeleteGroupsResponse]:
    names = list(dict.fromkeys(request.groups_names))
    replies = [_delete(group_id, context) for group_id in names]
    return reply_to_all(replies, lambda codes: _response(names, codes), lambda refusal: refusal.code)


def _delete(group_id: str, context: RequestContext) -> ErrorCode | Future[ErrorCode]:
    try:
        return context.services.groups.delete_group(group_id)
    except KafkaError as error:
        return error.code


def _response(names: list[str], codes: list[ErrorCode]) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=[
            DeletableGroupResult(group_id=group_id, error_code=code)
            for group_id, code in zip(names, codes, strict=True)
        ]
    )
