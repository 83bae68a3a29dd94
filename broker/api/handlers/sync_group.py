"""SyncGroup (key 14), v0-5: get the assignment of a generation; the leader sends that of all members.

Followers wait for the leader. Nothing is answered before the assignment is in the log. Answers UNKNOWN_MEMBER_ID,
ILLEGAL_GENERATION, FENCED_INSTANCE_ID, REBALANCE_IN_PROGRESS (join again), and from v5 on INCONSISTENT_GROUP_PROTOCOL
when the protocol is missing or not the group's. The decision is in coordinator/group/decisions/classic/syncing.
"""

from __future__ import annotations

from asyncio import Future

from barnabas.broker.coordinator.group.decisions.classic.model import SyncReply, SyncRequest
from barnabas.broker.runtime.replies import reply_to
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

_PROTOCOL_REQUIRED_SINCE = 5


def handle(request: SyncGroupRequest, context: RequestContext) -> SyncGroupResponse | Future[SyncGroupResponse]:
    names_protocol = request.protocol_type is not None and request.protocol_name is not None
    if context.api_version >= _PROTOCOL_REQUIRED_SINCE and not names_protocol:
        return _response(SyncReply(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
    requested = SyncRequest(
        group_id=request.group_id,
        generation_id=request.generation_id,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        protocol_type=request.protocol_type,
        protocol_name=request.protocol_name,
        assignments=tuple((given.member_id, given.assignment) for given in request.assignments),
    )
    return reply_to(lambda: context.services.groups.sync(requested), _response)


def _response(reply: SyncReply) -> SyncGroupResponse:
    return SyncGroupResponse(
        error_code=reply.error,
        protocol_type=reply.protocol_type,
        protocol_name=reply.protocol_name,
        assignment=reply.assignment,
    )
