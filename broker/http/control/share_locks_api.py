"""/control/share-locks: acquisition locks of share groups, ended by a test."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from barnabas.broker.control.share_locks import end_locks
from barnabas.broker.http.control.route_group import BAD_REQUEST, NOT_FOUND, SERVICE_UNAVAILABLE, RouteGroup, refused
from barnabas.broker.http.control.share_locks_openapi import PATH, SHARE_LOCKS
from barnabas.broker.services import Services
from barnabas.protocol.errors import ErrorCode, KafkaError

_STATUSES = {
    ErrorCode.UNSUPPORTED_VERSION: BAD_REQUEST,
    ErrorCode.INVALID_GROUP_ID: BAD_REQUEST,
    ErrorCode.GROUP_ID_NOT_FOUND: NOT_FOUND,
    ErrorCode.UNKNOWN_MEMBER_ID: NOT_FOUND,
}
_EXAMPLE = 'the body is {"group": "workers"} or {"group": "workers", "member": "worker-1"}'


def share_locks_routes(services: Services) -> RouteGroup:
    """Create the routes for the locks of one broker."""

    async def end(request: Request) -> JSONResponse:
        requested = _requested(await request.body())
        if requested is None:
            return refused(_EXAMPLE)
        try:
            count = await end_locks(services, *requested)
        except KafkaError as refusal:
            return refused(refusal.message, _STATUSES.get(refusal.code, SERVICE_UNAVAILABLE))
        return JSONResponse({"records_count": count})

    return RouteGroup([Route(PATH, end, methods=["POST"])], SHARE_LOCKS)


def _requested(body: bytes) -> tuple[str, str | None] | None:
    """Return the group and the member, which may be None; None if the body is invalid."""
    try:
        given: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    match given:
        case {"group": str(group), **rest} if not rest:
            return group, None
        case {"group": str(group), "member": str(member), **rest} if not rest:
            return group, member
    return None
