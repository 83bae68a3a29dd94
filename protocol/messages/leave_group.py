"""LeaveGroup (key 13), versions 0 to 5, flexible from 4: members leave a classic group.

Versions: 3 several members at once, static ones by their instance id, so the single member id ends with 2; 5 reasons.
"""

from barnabas.protocol.codec.schema import INT16, INT32, STRING, Request, Response, Struct, array, field


class MemberIdentity(Struct):
    member_id: str = field(STRING)  # empty: by the instance id alone
    group_instance_id: str | None = field(STRING, nullable="3+", default=None)
    reason: str | None = field(STRING, versions="5+", nullable="5+", default=None, ignorable=True)


class LeaveGroupRequest(Request, key=13, versions="0-5", flexible="4+"):
    group_id: str = field(STRING)
    member_id: str = field(STRING, versions="0-2", default="")  # the one that leaves
    members: list[MemberIdentity] = field(array(MemberIdentity), versions="3+", default=[])


class MemberResponse(Struct):
    member_id: str = field(STRING)
    group_instance_id: str | None = field(STRING, nullable="3+")
    error_code: int = field(INT16)


class LeaveGroupResponse(Response, key=13, versions="0-5", flexible="4+"):
    throttle_time_ms: int = field(INT32, versions="1+", default=0, ignorable=True)
    error_code: int = field(INT16)
    members: list[MemberResponse] = field(array(MemberResponse), versions="3+", default=[])
