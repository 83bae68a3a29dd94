"""DeleteGroups (key 42), v0-3: delete groups without members, with all their committed offsets.

Each group has its own code: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP. One that is named twice is answered once, as in Kafka.
The decision is in coordinator/group/decisions/offsets. Versions: 3 has a field for a message, which Kafka leaves empty
for such groups, too: it is for groups whose deletion a plug-in of streams groups (KIP-1331) refuses.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Iterable
from functools import partial

from barnabas.broker.api.current_request import keep_current_request
from barnabas.broker.runtime.replies import Reply, reply_to, reply_to_all
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from barnabas.storage.steps import Steps, mapped

_DELETED_AT_ONCE = 50  # some 100 us each
_DELETING = WorkClass(steps_max=1, may_begin_again=False)


def handle(
    request: DeleteGroupsRequest, context: RequestContext
) -> DeleteGroupsResponse | Future[DeleteGroupsResponse]:
    services = context.services
    names = list(dict.fromkeys(request.groups_names))
    as_current_request = keep_current_request(services)

    def delete(group_id: str) -> Reply[ErrorCode]:
        return as_current_request(partial(_delete, group_id, context))

    def response(codes: Iterable[ErrorCode]) -> Reply[DeleteGroupsResponse]:
        rows = list(zip(names, codes, strict=True))
        return services.request_scheduler.in_slices(lambda: _response(rows))

    return reply_to(
        lambda: services.upkeep.to_the_end(lambda: mapped(delete, names, _DELETED_AT_ONCE), _DELETING),
        lambda replies: reply_to(
            lambda: reply_to_all(replies, list[ErrorCode], lambda refusal: refusal.code),
            response,
        ),
    )


def _delete(group_id: str, context: RequestContext) -> Reply[ErrorCode]:
    try:
        return context.services.groups.delete_group(group_id)
    except KafkaError as error:
        return error.code


def _response(codes: Iterable[tuple[str, ErrorCode]]) -> Steps[DeleteGroupsResponse]:
    return DeleteGroupsResponse(results=(yield from mapped(_result, codes)))


def _result(response: tuple[str, ErrorCode]) -> DeletableGroupResult:
    group_id, code = response
    return DeletableGroupResult(group_id=group_id, error_code=code)
