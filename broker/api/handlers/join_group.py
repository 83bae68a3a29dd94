"""JoinGroup (key 11), v0-9: become, or remain, a member of a group.

Waits until its rebalance is over. Answers MEMBER_ID_REQUIRED with a fresh id to a new member (v4 and later),
INVALID_GROUP_ID, INVALID_SESSION_TIMEOUT, GROUP_MAX_SIZE_REACHED, INCONSISTENT_GROUP_PROTOCOL, UNKNOWN_MEMBER_ID,
FENCED_INSTANCE_ID. The decision is in coordinator/group/decisions/classic/joining. Versions: 1 rebalance timeout, 4
MEMBER_ID_REQUIRED, 5 static members, 6 flexible, 7 protocol type in the answer, 8 reason, 9 SkipAssignment.
"""

from __future__ import annotations

from asyncio import Future

from barnabas.broker.coordinator.group.decisions.classic.model import JoinReply, JoinRequest
from barnabas.broker.coordinator.group.decisions.shared_texts import shared
from barnabas.broker.runtime.replies import reply_to
from barnabas.broker.services import RequestContext
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember

_MEMBER_ID_REQUIRED_SINCE = 4
_NULL_PROTOCOL_NAME_SINCE = 7
_SKIP_ASSIGNMENT_SINCE = 9


def handle(request: JoinGroupRequest, context: RequestContext) -> JoinGroupResponse | Future[JoinGroupResponse]:
    member_id, version = request.member_id, context.api_version
    return reply_to(
        lambda: context.services.groups.join(_requested(request, context)),
        lambda reply: _response(reply, version),
        lambda refusal: _response(JoinReply(refusal.code, member_id), version),
    )


def _requested(request: JoinGroupRequest, context: RequestContext) -> JoinRequest:
    version = context.api_version
    return JoinRequest(
        group_id=request.group_id,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        client_id=shared(context.client_id or ""),  # many members share few names
        client_host=shared(f"/{context.client_host}"),  # as Java prints an address; the record stores it so
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=_rebalance_timeout_ms(request),
        protocol_type=request.protocol_type,
        protocols=_protocols(request),
        requires_known_member_id=version >= _MEMBER_ID_REQUIRED_SINCE,
        may_skip_assignment=version >= _SKIP_ASSIGNMENT_SINCE,
        may_describe=context.may_describe,
    )


def _protocols(request: JoinGroupRequest) -> tuple[tuple[str, bytes], ...]:
    """Return the protocols; the first metadata counts if a protocol is named twice."""
    protocols: dict[str, bytes] = {}
    for protocol in request.protocols:
        protocols.setdefault(shared(protocol.name), protocol.metadata)
    return tuple(protocols.items())


def _rebalance_timeout_ms(request: JoinGroupRequest) -> int:
    """Return the rebalance timeout; v0 has none, so the session timeout limits the join phase too."""
    return request.rebalance_timeout_ms if request.rebalance_timeout_ms >= 0 else request.session_timeout_ms


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
