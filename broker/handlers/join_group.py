"""JoinGroup (key 11), v0-9: become, or remain, a member of a group.

Waits until the rebalance it takes part in is over. Answers MEMBER_ID_REQUIRED with a fresh id to a newcomer (v4 and
later), INVALID_GROUP_ID, INVALID_SESSION_TIMEOUT, GROUP_MAX_SIZE_REACHED, INCONSISTENT_GROUP_PROTOCOL,
UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID. The decision is in coordinator/group/joining. Versions: 1 rebalance timeout, 4
MEMBER_ID_REQUIRED, 5 static members, 6 flexible, 7 protocol type in the answer, 8 reason, 9 SkipAssignment.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Awaitable

from broker.context import RequestContext
from broker.coordinator.group.model import JoinReply, JoinRequest
from protocol.errors import ErrorCode
from protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember

_MEMBER_ID_REQUIRED_SINCE = 4
_NULL_PROTOCOL_NAME_SINCE = 7
_SKIP_ASSIGNMENT_SINCE = 9


def handle(request: JoinGroupRequest, context: RequestContext) -> JoinGroupResponse | Awaitable[JoinGroupResponse]:
    version = context.api_version
    reply = context.services.groups.join(
        JoinRequest(
            group_id=request.group_id,
            member_id=request.member_id,
            group_instance_id=request.group_instance_id,
            client_id=context.client_id or "",
            client_host=f"/{context.client_host}",  # as Java prints an address; the record has it so
            session_timeout_ms=request.session_timeout_ms,
            rebalance_timeout_ms=_rebalance_timeout_ms(request),
            protocol_type=request.protocol_type,
            protocols=tuple({protocol.name: protocol.metadata for protocol in request.protocols}.items()),
            requires_known_member_id=version >= _MEMBER_ID_REQUIRED_SINCE,
            may_skip_assignment=version >= _SKIP_ASSIGNMENT_SINCE,
        )
    )
    return _later(reply, version) if isinstance(reply, Future) else _response(reply, version)


def _rebalance_timeout_ms(request: JoinGroupRequest) -> int:
    """v0 does not say: the session timeout then limits the join phase too."""
    return request.rebalance_timeout_ms if request.rebalance_timeout_ms >= 0 else request.session_timeout_ms


async def _later(reply: Future[JoinReply], version: int) -> JoinGroupResponse:
    return _response(await reply, version)


def _response(reply: JoinReply, version: int) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=reply.error,
        generation_id=reply.generation_id,
        protocol_type=reply.protocol_type,
        protocol_name=reply.protocol_name if version >= _NULL_PROTOCOL_NAME_SINCE else reply.protocol_name or "",
        leader=reply.leader_id,
        skip_assignment=reply.skip_assignment,
        member_id=reply.member_id,
        members=[
            JoinGroupResponseMember(
                member_id=member.member_id, group_instance_id=member.group_instance_id, metadata=member.metadata
            )
            for member in reply.members
        ],
    )


def error_response(request: JoinGroupRequest, code: ErrorCode, context: RequestContext) -> JoinGroupResponse:
    """The answer when the coordinator is not to be had."""
    return _response(JoinReply(code, request.member_id), context.api_version)
