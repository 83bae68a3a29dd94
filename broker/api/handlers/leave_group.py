"""LeaveGroup (key 13), v0-5: members leave, so that the others need not wait for their sessions to end.

v0-2 name one member and answer at the top; v3 and later name many, also static ones by their instance id alone (an
administrator removes them), and answer each: NONE, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID. The decision is in
coordinator/group/decisions/classic/leaving.
"""

from __future__ import annotations

from asyncio import Future
from functools import partial

from barnabas.broker.api.current_request import keep_current_request
from barnabas.broker.coordinator.group.decisions.classic.model import LeavingMember
from barnabas.broker.runtime.replies import Reply, reply_to
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse
from barnabas.storage.steps import Steps, mapped

_BATCHED_SINCE = 3


def handle(request: LeaveGroupRequest, context: RequestContext) -> LeaveGroupResponse | Future[LeaveGroupResponse]:
    as_current_request = keep_current_request(context.services)
    if context.api_version < _BATCHED_SINCE:
        return _left([LeavingMember(request.member_id, None)], request.group_id, context)
    return reply_to(
        lambda: context.services.request_scheduler.in_slices(lambda: mapped(_leaving, request.members)),
        lambda leaving: as_current_request(partial(_left, leaving, request.group_id, context)),
    )


def _left(leaving: list[LeavingMember], group_id: str, context: RequestContext) -> Reply[LeaveGroupResponse]:
    return reply_to(
        lambda: context.services.groups.leave(group_id, leaving),
        lambda codes: context.services.request_scheduler.in_slices(
            lambda: _response(codes, leaving, context.api_version)
        ),
        lambda refusal: LeaveGroupResponse(error_code=refusal.code),  # for the whole group: at the top, always
    )


def _leaving(member: MemberIdentity) -> LeavingMember:
    return LeavingMember(member.member_id, member.group_instance_id)


def _response(codes: tuple[ErrorCode, ...], leaving: list[LeavingMember], version: int) -> Steps[LeaveGroupResponse]:
    if version < _BATCHED_SINCE:
        return LeaveGroupResponse(error_code=codes[0])
    outcomes = zip(leaving, codes, strict=True)
    return LeaveGroupResponse(error_code=ErrorCode.NONE, members=(yield from mapped(_member, outcomes)))


def _member(outcomes: tuple[LeavingMember, ErrorCode]) -> MemberResponse:
    (member_id, instance_id), code = outcomes
    return MemberResponse(member_id=member_id, group_instance_id=instance_id, error_code=code)
