"""JoinGroup (key 11), versions 0 to 9, flexible from 6: become a member of a classic group.

From version 4 on a member that comes without an id is sent back with one (MEMBER_ID_REQUIRED) and joins again. The
answer waits for the rebalance; the leader's carries all members and what each offered for the chosen protocol.

Versions: 1 a rebalance timeout of its own; 5 static members; 7 the protocol type in the answer; 8 the reason for
joining; 9 the leader may be instructed not to change the assignment.
"""

from barnabas.protocol.codec.schema import BOOL, BYTES, INT16, INT32, STRING, Request, Response, Struct, array, field


class JoinGroupRequestProtocol(Struct):
    name: str = field(STRING)
    metadata: bytes = field(BYTES)  # the subscription, opaque to the broker


class JoinGroupRequest(Request, key=11, versions="0-9", flexible="6+"):
    group_id: str = field(STRING)
    session_timeout_ms: int = field(INT32)
    rebalance_timeout_ms: int = field(INT32, versions="1+", default=-1, ignorable=True)  # -1: the session timeout
    member_id: str = field(STRING)  # empty: a new member
    group_instance_id: str | None = field(STRING, versions="5+", nullable="5+", default=None)  # set by static members
    protocol_type: str = field(STRING)
    # the member's assignors, most liked first
    protocols: list[JoinGroupRequestProtocol] = field(array(JoinGroupRequestProtocol))
    reason: str | None = field(STRING, versions="8+", nullable="8+", default=None, ignorable=True)


class JoinGroupResponseMember(Struct):
    member_id: str = field(STRING)
    group_instance_id: str | None = field(STRING, versions="5+", nullable="5+", default=None, ignorable=True)
    metadata: bytes = field(BYTES)


class JoinGroupResponse(Response, key=11, versions="0-9", flexible="6+"):
    throttle_time_ms: int = field(INT32, versions="2+", default=0, ignorable=True)
    error_code: int = field(INT16)
    generation_id: int = field(INT32, default=-1)
    protocol_type: str | None = field(STRING, versions="7+", nullable="7+", default=None, ignorable=True)
    protocol_name: str | None = field(STRING, nullable="7+")  # the assignor the group has chosen
    leader: str = field(STRING)
    skip_assignment: bool = field(BOOL, versions="9+", default=False)
    member_id: str = field(STRING)
    # for the leader; empty for everyone else
    members: list[JoinGroupResponseMember] = field(array(JoinGroupResponseMember))
