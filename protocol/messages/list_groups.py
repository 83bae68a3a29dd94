"""ListGroups (key 16), versions 0 to 5, flexible from 3: the groups of a broker.

Versions: 4 filter by state; 5 filter by type. An empty filter lets everything through.
"""

from barnabas.protocol.codec.schema import INT16, INT32, STRING, Request, Response, Struct, array, field


class ListGroupsRequest(Request, key=16, versions="0-5", flexible="3+"):
    states_filter: list[str] = field(array(STRING), versions="4+", default=[])
    types_filter: list[str] = field(array(STRING), versions="5+", default=[])


class ListedGroup(Struct):
    group_id: str = field(STRING)
    protocol_type: str = field(STRING)
    group_state: str = field(STRING, versions="4+", default="", ignorable=True)
    group_type: str = field(STRING, versions="5+", default="", ignorable=True)


class ListGroupsResponse(Response, key=16, versions="0-5", flexible="3+"):
    throttle_time_ms: int = field(INT32, versions="1+", default=0, ignorable=True)
    error_code: int = field(INT16)
    groups: list[ListedGroup] = field(array(ListedGroup))
