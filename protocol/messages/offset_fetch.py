"""OffsetFetch (key 9), versions 1 to 10, flexible from 6: the offsets a group has committed.

Null topics ask for everything the group has committed. `require_stable` answers UNSTABLE_OFFSET_COMMIT where an open
transaction may still change the offset. An offset of -1 means that none was committed.

Versions: 2 an error for the group; 5 leader epochs; 7 stable offsets; 8 several groups, so the fields above the groups
end with 7; 9 member id and epoch; 10 topics by id.
"""

from barnabas.protocol.codec.schema import (
    BOOL,
    INT16,
    INT32,
    INT64,
    STRING,
    UUID,
    Request,
    Response,
    Struct,
    array,
    field,
)
from barnabas.protocol.primitives import ZERO_UUID


class OffsetFetchRequestTopic(Struct):
    name: str = field(STRING)
    partition_indexes: list[int] = field(array(INT32))


class OffsetFetchRequestTopics(Struct):
    name: str = field(STRING, versions="8-9", default="", ignorable=True)
    topic_id: bytes = field(UUID, versions="10+", default=ZERO_UUID, ignorable=True)
    partition_indexes: list[int] = field(array(INT32))


class OffsetFetchRequestGroup(Struct):
    group_id: str = field(STRING)
    member_id: str | None = field(STRING, versions="9+", nullable="9+", default=None, ignorable=True)
    member_epoch: int = field(INT32, versions="9+", default=-1, ignorable=True)
    # null: everything committed
    topics: list[OffsetFetchRequestTopics] | None = field(array(OffsetFetchRequestTopics), nullable="8+")


class OffsetFetchRequest(Request, key=9, versions="1-10", flexible="6+"):
    group_id: str = field(STRING, versions="0-7", default="")
    # null: everything committed
    topics: list[OffsetFetchRequestTopic] | None = field(
        array(OffsetFetchRequestTopic), versions="0-7", nullable="2-7", default=[]
    )
    groups: list[OffsetFetchRequestGroup] = field(array(OffsetFetchRequestGroup), versions="8+", default=[])
    require_stable: bool = field(
        BOOL, versions="7+", default=False
    )  # UNSTABLE_OFFSET_COMMIT while a transaction may change it


class OffsetFetchResponsePartition(Struct):
    partition_index: int = field(INT32)
    committed_offset: int = field(INT64)  # -1: none
    committed_leader_epoch: int = field(INT32, versions="5-7", default=-1, ignorable=True)
    metadata: str | None = field(STRING, nullable="0-7")
    error_code: int = field(INT16)


class OffsetFetchResponseTopic(Struct):
    name: str = field(STRING)
    partitions: list[OffsetFetchResponsePartition] = field(array(OffsetFetchResponsePartition))


class OffsetFetchResponsePartitions(Struct):
    partition_index: int = field(INT32)
    committed_offset: int = field(INT64)  # -1: none
    committed_leader_epoch: int = field(INT32, default=-1)
    metadata: str | None = field(STRING, nullable="8+")
    error_code: int = field(INT16)


class OffsetFetchResponseTopics(Struct):
    name: str = field(STRING, versions="8-9", default="", ignorable=True)
    topic_id: bytes = field(UUID, versions="10+", default=ZERO_UUID, ignorable=True)
    partitions: list[OffsetFetchResponsePartitions] = field(array(OffsetFetchResponsePartitions))


class OffsetFetchResponseGroup(Struct):
    group_id: str = field(STRING)
    topics: list[OffsetFetchResponseTopics] = field(array(OffsetFetchResponseTopics))
    error_code: int = field(INT16, default=0)


class OffsetFetchResponse(Response, key=9, versions="1-10", flexible="6+"):
    throttle_time_ms: int = field(INT32, versions="3+", default=0, ignorable=True)
    topics: list[OffsetFetchResponseTopic] = field(array(OffsetFetchResponseTopic), versions="0-7", default=[])
    error_code: int = field(INT16, versions="2-7", default=0, ignorable=True)
    groups: list[OffsetFetchResponseGroup] = field(array(OffsetFetchResponseGroup), versions="8+", default=[])
