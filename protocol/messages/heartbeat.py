"""Heartbeat (key 12), versions 0 to 4, flexible from 4: a member of a classic group is alive.

The answer is how a member learns of a rebalance: REBALANCE_IN_PROGRESS means join again.

Versions: 3 static members.
"""

from barnabas.protocol.codec.schema import INT16, INT32, STRING, Request, Response, field


class HeartbeatRequest(Request, key=12, versions="0-4", flexible="4+"):
    group_id: str = field(STRING)
    generation_id: int = field(INT32)
    member_id: str = field(STRING)
    group_instance_id: str | None = field(STRING, versions="3+", nullable="3+", default=None)


class HeartbeatResponse(Response, key=12, versions="0-4", flexible="4+"):
    throttle_time_ms: int = field(INT32, versions="1+", default=0, ignorable=True)
    error_code: int = field(INT16)
