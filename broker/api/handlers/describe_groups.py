"""DescribeGroups (key 15), v0-6: the state of groups, and their members.

An unknown group, and one of the consumer protocol, is Dead up to v5, and GROUP_ID_NOT_FOUND from v6 on. The
subscriptions of members are listed for a Stable group only; their assignments stay until the leader of the next
generation sends new ones. A group that is named again is answered again, up to a limit: INVALID_REQUEST. Versions: 3
authorized operations, 4 static members, 5 flexible.
"""

from __future__ import annotations

from asyncio import Future

from barnabas.broker.api.group_descriptions.repeated_ids import each_described
from barnabas.broker.api.guards.authorized_operations import GROUP_OPERATIONS, NOT_REQUESTED
from barnabas.broker.coordinator.group.decisions.classic.model import Group
from barnabas.broker.coordinator.group.decisions.classic.states import ClassicGroupState
from barnabas.broker.coordinator.runtime.replies_after_sync import once_synced
from barnabas.broker.runtime.replies import reply_to
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from barnabas.protocol.registry import ApiKey, response_codec
from barnabas.storage.steps import Steps

_NOT_FOUND_SINCE = _MESSAGES_SINCE = 6
_GROUPS = WorkClass()


def handle(
    request: DescribeGroupsRequest, context: RequestContext
) -> DescribeGroupsResponse | Future[DescribeGroupsResponse]:
    return reply_to(
        lambda: context.services.request_scheduler.in_slices(lambda: _all_described(request, context), _GROUPS),
        lambda response: once_synced(response, context.services.groups.unsynced()),
    )


def _all_described(request: DescribeGroupsRequest, context: RequestContext) -> Steps[DescribeGroupsResponse]:
    operations = GROUP_OPERATIONS if request.include_authorized_operations else NOT_REQUESTED
    codec = response_codec(ApiKey.DESCRIBE_GROUPS, context.api_version)
    groups = yield from each_described(
        request.groups,
        lambda group_id: _describe(group_id, operations, context),
        lambda group: len(codec.encode(DescribeGroupsResponse(groups=[group]))),
        lambda group_id, why: _refused(group_id, why, context),
    )
    return DescribeGroupsResponse(groups=groups)


def _describe(group_id: str, operations: int, context: RequestContext) -> DescribedGroup:
    group, refusal = None, None
    try:
        group = context.services.groups.describe(group_id)
    except KafkaError as error:
        if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
            return _refused(group_id, error, context)
        refusal = error  # it is no classic group
    if group is None:
        if context.api_version >= _NOT_FOUND_SINCE:
            missing = refusal or KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
            return _nothing(group_id, missing.code, missing.message)  # shortened by KafkaError
        dead = _nothing(group_id, ErrorCode.NONE, None)
        dead.authorized_operations = operations  # without an error they are returned, as in Kafka
        return dead
    is_stable = group.state is ClassicGroupState.STABLE
    return DescribedGroup(
        error_code=ErrorCode.NONE,
        group_id=group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type,
        protocol_data=(group.protocol_name or "") if is_stable else "",
        members=_members(group, is_stable),
        authorized_operations=operations,
    )


def _members(group: Group, is_stable: bool) -> list[DescribedGroupMember]:
    return [
        DescribedGroupMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            member_metadata=member.metadata(group.protocol_name) if is_stable else b"",
            member_assignment=member.assignment,
        )
        for member in group.members.values()
    ]


def _refused(group_id: str, why: KafkaError, context: RequestContext) -> DescribedGroup:
    """Return the entry of a group that is not described, with the reason if the version has a field for it."""
    message = why.message if context.api_version >= _MESSAGES_SINCE else None
    return _nothing(group_id, why.code, message, state="")


def _nothing(
    group_id: str, code: ErrorCode, message: str | None, state: str = ClassicGroupState.DEAD.value
) -> DescribedGroup:
    return DescribedGroup(
        error_code=code,
        error_message=message,
        group_id=group_id,
        group_state=state,
        protocol_type="",
        protocol_data="",
        members=[],
    )
