# compiled: mypyc
"""Heartbeat (key 12), v0-4: a member reports that it is alive, and learns whether it has to join again.

Answers REBALANCE_IN_PROGRESS while the group waits for its members, UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION,
FENCED_INSTANCE_ID. While the group is being loaded the answer is NONE: members should not rejoin because a broker
started. The decision is in coordinator/group/decisions/classic/sessions.
"""

from __future__ import annotations

from asyncio import Future

from barnabas.broker.runtime.replies import reply_to
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def handle(request: HeartbeatRequest, context: RequestContext) -> HeartbeatResponse | Future[HeartbeatResponse]:
    member = request.group_id, request.member_id, request.group_instance_id
    return reply_to(lambda: context.services.groups.heartbeat(*member, request.generation_id), _response)


def _response(code: ErrorCode) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=code)
