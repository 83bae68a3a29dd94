"""Metadata (key 3), versions 0 to 13, flexible from 9: brokers, topics, partitions and their leaders.

In version 0 an empty list of topics means all of them; from version 1 on null does, and an empty list means none.
Topics can be requested by id from version 12 on (10 and 11 have the field, but the name must be there).

Versions: 1 rack, controller, internal topics; 2 cluster id; 4 auto-creation is requested; 5 offline replicas;
7 leader epochs; 8 authorized operations (those of the cluster left again with 11); 13 an error for the whole answer.
"""

from barnabas.protocol.codec.schema import BOOL, INT16, INT32, STRING, UUID, Request, Response, Struct, array, field
from barnabas.protocol.primitives import ZERO_UUID


class MetadataRequestTopic(Struct):
    topic_id: bytes = field(UUID, versions="10+", default=ZERO_UUID, ignorable=True)
    name: str | None = field(STRING, nullable="10+")  # null: by id


class MetadataRequest(Request, key=3, versions="0-13", flexible="9+"):
    # null: all of them (version 0: an empty list)
    topics: list[MetadataRequestTopic] | None = field(array(MetadataRequestTopic), nullable="1+")
    allow_auto_topic_creation: bool = field(BOOL, versions="4+", default=True)
    include_cluster_authorized_operations: bool = field(BOOL, versions="8-10", default=False)
    include_topic_authorized_operations: bool = field(BOOL, versions="8+", default=False)


class MetadataResponseBroker(Struct):
    node_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)
    rack: str | None = field(STRING, versions="1+", nullable="1+", default=None, ignorable=True)


class MetadataResponsePartition(Struct):
    error_code: int = field(INT16)
    partition_index: int = field(INT32)
    leader_id: int = field(INT32)  # -1: none
    leader_epoch: int = field(INT32, versions="7+", default=-1, ignorable=True)
    replica_nodes: list[int] = field(array(INT32))
    isr_nodes: list[int] = field(array(INT32))
    offline_replicas: list[int] = field(array(INT32), versions="5+", default=[], ignorable=True)


class MetadataResponseTopic(Struct):
    error_code: int = field(INT16)
    name: str | None = field(STRING, nullable="12+")  # null: an unknown id was requested
    topic_id: bytes = field(UUID, versions="10+", default=ZERO_UUID, ignorable=True)
    is_internal: bool = field(BOOL, versions="1+", default=False, ignorable=True)
    partitions: list[MetadataResponsePartition] = field(array(MetadataResponsePartition, may_be_encoded=True))
    # a bit field; the default means: not requested
    topic_authorized_operations: int = field(INT32, versions="8+", default=-0x8000_0000)


class MetadataResponse(Response, key=3, versions="0-13", flexible="9+"):
    throttle_time_ms: int = field(INT32, versions="3+", default=0, ignorable=True)
    brokers: list[MetadataResponseBroker] = field(array(MetadataResponseBroker))
    cluster_id: str | None = field(STRING, versions="2+", nullable="2+", default=None, ignorable=True)
    controller_id: int = field(INT32, versions="1+", default=-1, ignorable=True)
    topics: list[MetadataResponseTopic] = field(array(MetadataResponseTopic))
    # a bit field; the default means: not requested
    cluster_authorized_operations: int = field(INT32, versions="8-10", default=-0x8000_0000)
    error_code: int = field(INT16, versions="13+", default=0, ignorable=True)
