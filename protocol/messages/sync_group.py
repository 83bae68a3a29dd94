"""SyncGroup (key 14), versions 0 to 5, flexible from 4: hand out the assignments of a classic group.

The leader sends everyone's, the others none; each is answered with its own once the leader's are there.

Versions: 3 static members; 5 protocol type and name, which must be those of the group.
"""

from barnabas.protocol.codec.schema import BYTES, INT16, INT32, STRING, Request, Response, Struct, array, field


class SyncGroupRequestAssignment(Struct):
    member_id: str = field(STRING)
    assignment: bytes = field(BYTES)


class SyncGroupRequest(Request, key=14, versions="0-5", flexible="4+"):
    group_id: str = field(STRING)
    generation_id: int = field(INT32)
    member_id: str = field(STRING)
    group_instance_id: str | None = field(STRING, versions="3+", nullable="3+", default=None)
    protocol_type: str | None = field(STRING, versions="5+", nullable="5+", default=None, ignorable=True)
    protocol_name: str | None = field(STRING, versions="5+", nullable="5+", default=None, ignorable=True)
    # from the leader; everyone else's is empty
    assignments: list[SyncGroupRequestAssignment] = field(array(SyncGroupRequestAssignment))


class SyncGroupResponse(Response, key=14, versions="0-5", flexible="4+"):
    throttle_time_ms: int = field(INT32, versions="1+", default=0, ignorable=True)
    error_code: int = field(INT16)
    protocol_type: str | None = field(STRING, versions="5+", nullable="5+", default=None, ignorable=True)
    protocol_name: str | None = field(STRING, versions="5+", nullable="5+", default=None, ignorable=True)
    assignment: bytes = field(BYTES)  # opaque to the broker
