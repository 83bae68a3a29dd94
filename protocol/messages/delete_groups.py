"""DeleteGroups (key 42), versions 0 to 2, flexible from 2: delete groups that have no members."""

from barnabas.protocol.schema import INT16, INT32, STRING, Request, Response, Struct, array, field


class DeleteGroupsRequest(Request, key=42, versions="0-2", flexible="2+"):
    groups_names: list[str] = field(array(STRING))


class DeletableGroupResult(Struct):
    group_id: str = field(STRING)
    error_code: int = field(INT16)


class DeleteGroupsResponse(Response, key=42, versions="0-2", flexible="2+"):
    throttle_time_ms: int = field(INT32, default=0)
    results: list[DeletableGroupResult] = field(array(DeletableGroupResult))
