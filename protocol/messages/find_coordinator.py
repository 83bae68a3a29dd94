"""FindCoordinator (key 10), versions 0 to 6, flexible from 3: which broker coordinates a group or a transactional id.

Key types: 0 group, 1 transactional id (version 1), 2 share group partition (version 6).

Versions: 4 several keys at once, so the single answer's fields end with 3.
"""

from barnabas.protocol.codec.schema import INT8, INT16, INT32, STRING, Request, Response, Struct, array, field


class FindCoordinatorRequest(Request, key=10, versions="0-6", flexible="3+"):
    key: str = field(STRING, versions="0-3", default="")
    key_type: int = field(INT8, versions="1+", default=0)  # 0 group, 1 transaction, 2 share
    coordinator_keys: list[str] = field(array(STRING), versions="4+", default=[])


class Coordinator(Struct):
    key: str = field(STRING)
    node_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="4+")


class FindCoordinatorResponse(Response, key=10, versions="0-6", flexible="3+"):
    throttle_time_ms: int = field(INT32, versions="1+", default=0, ignorable=True)
    error_code: int = field(INT16, versions="0-3", default=0)
    error_message: str | None = field(STRING, versions="1-3", nullable="1-3", default="", ignorable=True)
    node_id: int = field(INT32, versions="0-3", default=0)
    host: str = field(STRING, versions="0-3", default="")
    port: int = field(INT32, versions="0-3", default=0)
    coordinators: list[Coordinator] = field(array(Coordinator), versions="4+", default=[])
