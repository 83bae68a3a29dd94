"""DeleteGroups (key 42), versions 0 to 3, flexible from 2: delete groups that have no members.

Versions: 3 a group that was not deleted may say why.
"""

from barnabas.protocol.codec.schema import INT16, INT32, STRING, Request, Response, Struct, array, field


class DeleteGroupsRequest(Request, key=42, versions="0-3", flexible="2+"):
    groups_names: list[str] = field(array(STRING))


class DeletableGroupResult(Struct):
    group_id: str = field(STRING)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, versions="3+", nullable="3+", default=None, ignorable=True)


class DeleteGroupsResponse(Response, key=42, versions="0-3", flexible="2+"):
    throttle_time_ms: int = field(INT32, default=0)
    results: list[DeletableGroupResult] = field(array(DeletableGroupResult))
