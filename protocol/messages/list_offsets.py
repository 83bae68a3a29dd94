"""ListOffsets (key 2), versions 1 to 11, flexible from 6: find offsets by timestamp.

Timestamps below zero have meanings: -1 the end (the last stable offset for read_committed), -2 the start, -3 the record
with the largest timestamp (version 7), -4 the start of what is local (8), -5 the end of what is tiered (9), -6 the
earliest offset still to be uploaded (11). Otherwise the first record at or after the timestamp; -1 where there is none.

Versions: 2 isolation level; 4 leader epochs; 10 a time limit for looking into tiered storage.
"""

from barnabas.protocol.codec.schema import INT8, INT16, INT32, INT64, STRING, Request, Response, Struct, array, field


class ListOffsetsPartition(Struct):
    partition_index: int = field(INT32)
    current_leader_epoch: int = field(INT32, versions="4+", default=-1, ignorable=True)
    timestamp: int = field(INT64)  # in ms, or one of the special values above


class ListOffsetsTopic(Struct):
    name: str = field(STRING)
    partitions: list[ListOffsetsPartition] = field(array(ListOffsetsPartition))


class ListOffsetsRequest(Request, key=2, versions="1-11", flexible="6+"):
    replica_id: int = field(INT32)
    isolation_level: int = field(INT8, versions="2+", default=0)
    topics: list[ListOffsetsTopic] = field(array(ListOffsetsTopic))
    timeout_ms: int = field(INT32, versions="10+", default=0, ignorable=True)


class ListOffsetsPartitionResponse(Struct):
    partition_index: int = field(INT32)
    error_code: int = field(INT16)
    timestamp: int = field(INT64, default=-1)  # of the record found; -1: none
    offset: int = field(INT64, default=-1)  # -1: none
    leader_epoch: int = field(INT32, versions="4+", default=-1)  # the epoch the record was written in


class ListOffsetsTopicResponse(Struct):
    name: str = field(STRING)
    partitions: list[ListOffsetsPartitionResponse] = field(array(ListOffsetsPartitionResponse))


class ListOffsetsResponse(Response, key=2, versions="1-11", flexible="6+"):
    throttle_time_ms: int = field(INT32, versions="2+", default=0, ignorable=True)
    topics: list[ListOffsetsTopicResponse] = field(array(ListOffsetsTopicResponse))
