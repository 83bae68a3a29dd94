"""DescribeGroups (key 15), versions 0 to 6, flexible from 5: state and members of classic groups.

Versions: 3 authorized operations; 4 static members; 6 error messages, and GROUP_ID_NOT_FOUND for unknown groups.
"""

from barnabas.protocol.codec.schema import BOOL, BYTES, INT16, INT32, STRING, Request, Response, Struct, array, field


class DescribeGroupsRequest(Request, key=15, versions="0-6", flexible="5+"):
    groups: list[str] = field(array(STRING))
    include_authorized_operations: bool = field(BOOL, versions="3+", default=False)


class DescribedGroupMember(Struct):
    member_id: str = field(STRING)
    group_instance_id: str | None = field(STRING, versions="4+", nullable="4+", default=None, ignorable=True)
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    member_metadata: bytes = field(BYTES)
    member_assignment: bytes = field(BYTES)


class DescribedGroup(Struct):
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, versions="6+", nullable="6+", default=None)
    group_id: str = field(STRING)
    group_state: str = field(STRING)
    protocol_type: str = field(STRING)
    protocol_data: str = field(STRING)
    members: list[DescribedGroupMember] = field(array(DescribedGroupMember))
    authorized_operations: int = field(INT32, versions="3+", default=-0x8000_0000)


class DescribeGroupsResponse(Response, key=15, versions="0-6", flexible="5+"):
    throttle_time_ms: int = field(INT32, versions="1+", default=0, ignorable=True)
    groups: list[DescribedGroup] = field(array(DescribedGroup))
