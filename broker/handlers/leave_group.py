"""LeaveGroup (key 13), v0-5: members go, so that the others need not wait for their sessions to end.

v0-2 name one member and answer at the top; v3 and later name many, also static ones by their instance id alone (an
administrator removes them), and answer each: NONE, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID. The decision is in
coordinator/group/leaving.
"""

from __future__ import annotations

from asyncio import Future

from barnabas.broker.context import RequestContext
from barnabas.broker.coordinator.group.classic.model import LeavingMember
from barnabas.broker.replies import reply_to
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberResponse

_BATCHED_SINCE = 3


def handle(request: LeaveGroupRequest, context: RequestContext) -> LeaveGroupResponse | Future[LeaveGroupResponse]:
    leaving = _leaving(request, context.api_version)
    return reply_to(
        lambda: context.services.groups.leave(request.group_id, leaving),
        lambda codes: _response(codes, leaving, context.api_version),
        lambda refusal: LeaveGroupResponse(error_code=refusal.code),  # for the whole group: at the top, always
    )


def _leaving(request: LeaveGroupRequest, version: int) -> list[LeavingMember]:
    if version < _BATCHED_SINCE:
        return [LeavingMember(request.member_id, None)]
    return [LeavingMember(member.member_id, member.group_instance_id) for member in request.members]


def _response(codes: tuple[ErrorCode, ...], leaving: list[LeavingMember], version: int) -> LeaveGroupResponse:
    if version < _BATCHED_SINCE:
        return LeaveGroupResponse(error_code=codes[0])
    return LeaveGroupResponse(
        error_code=ErrorCode.NONE,
        members=[
            MemberResponse(member_id=member.member_id, group_instance_id=member.group_instance_id, error_code=code)
            for member, code in zip(leaving, codes, strict=True)
        ],
    )
