"""CreateTopics (key 19), versions 2 to 7, flexible from 5: create topics.

Versions: 4 partitions and replication factor may be -1, the broker's defaults; 5 the answer contains the configs;
6 a quota may refuse; 7 topic ids.
"""

from barnabas.protocol.codec.schema import (
    BOOL,
    INT8,
    INT16,
    INT32,
    STRING,
    UUID,
    Request,
    Response,
    Struct,
    array,
    field,
)
from barnabas.protocol.primitives import ZERO_UUID


class CreatableReplicaAssignment(Struct):
    partition_index: int = field(INT32)
    broker_ids: list[int] = field(array(INT32))


class CreatableTopicConfig(Struct):
    name: str = field(STRING)
    value: str | None = field(STRING, nullable="0+")  # null is refused


class CreatableTopic(Struct):
    name: str = field(STRING)
    num_partitions: int = field(INT32)  # -1: the broker's default, or as many as are assigned
    replication_factor: int = field(INT16)  # -1: the broker's default, or as assigned
    # placement by hand; then the two above must be -1
    assignments: list[CreatableReplicaAssignment] = field(array(CreatableReplicaAssignment))
    configs: list[CreatableTopicConfig] = field(array(CreatableTopicConfig))


class CreateTopicsRequest(Request, key=19, versions="2-7", flexible="5+"):
    topics: list[CreatableTopic] = field(array(CreatableTopic))
    timeout_ms: int = field(INT32, default=60000)
    validate_only: bool = field(BOOL, default=False)  # check, but create nothing


class CreatableTopicConfigs(Struct):
    name: str = field(STRING)
    value: str | None = field(STRING, nullable="5+")
    read_only: bool = field(BOOL)
    config_source: int = field(INT8, default=-1)
    is_sensitive: bool = field(BOOL)


class CreatableTopicResult(Struct):
    name: str = field(STRING)
    topic_id: bytes = field(UUID, versions="7+", default=ZERO_UUID, ignorable=True)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    # why the configs are not returned
    topic_config_error_code: int = field(INT16, versions="5+", default=0, tag=0, ignorable=True)
    num_partitions: int = field(INT32, versions="5+", default=-1, ignorable=True)  # -1: not returned
    replication_factor: int = field(INT16, versions="5+", default=-1, ignorable=True)  # -1: not returned
    # null: not returned
    configs: list[CreatableTopicConfigs] | None = field(
        array(CreatableTopicConfigs), versions="5+", nullable="5+", default=[], ignorable=True
    )


class CreateTopicsResponse(Response, key=19, versions="2-7", flexible="5+"):
    throttle_time_ms: int = field(INT32, default=0)
    topics: list[CreatableTopicResult] = field(array(CreatableTopicResult))
