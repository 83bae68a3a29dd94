"""StreamsGroupDescribe (key 89), version 0, flexible: state, topology, members and tasks of groups of the streams
protocol.
"""

from barnabas.protocol.schema import BOOL, INT16, INT32, INT64, STRING, UINT16, Request, Response, Struct, array, field


class StreamsGroupDescribeRequest(Request, key=89, versions="0", flexible="0+"):
    group_ids: list[str] = field(array(STRING))
    include_authorized_operations: bool = field(BOOL)


class KeyValue(Struct):
    key: str = field(STRING)
    value: str = field(STRING)


class TopicInfo(Struct):
    name: str = field(STRING)
    partitions: int = field(INT32)
    replication_factor: int = field(INT16)
    topic_configs: list[KeyValue] = field(array(KeyValue))


class Subtopology(Struct):
    subtopology_id: str = field(STRING)
    source_topics: list[str] = field(array(STRING))
    repartition_sink_topics: list[str] = field(array(STRING))
    state_changelog_topics: list[TopicInfo] = field(array(TopicInfo))
    repartition_source_topics: list[TopicInfo] = field(array(TopicInfo))


class Topology(Struct):
    epoch: int = field(INT32)
    subtopologies: list[Subtopology] | None = field(array(Subtopology), nullable="0+", default=None)


class Endpoint(Struct):
    host: str = field(STRING)
    port: int = field(UINT16)


class TaskOffset(Struct):
    subtopology_id: str = field(STRING)
    partition: int = field(INT32)
    offset: int = field(INT64)


class TaskIds(Struct):
    subtopology_id: str = field(STRING)
    partitions: list[int] = field(array(INT32))


class Assignment(Struct):
    active_tasks: list[TaskIds] = field(array(TaskIds))
    standby_tasks: list[TaskIds] = field(array(TaskIds))
    warmup_tasks: list[TaskIds] = field(array(TaskIds))


class Member(Struct):
    member_id: str = field(STRING)
    member_epoch: int = field(INT32)
    instance_id: str | None = field(STRING, nullable="0+", default=None)
    rack_id: str | None = field(STRING, nullable="0+", default=None)
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    topology_epoch: int = field(INT32)
    process_id: str = field(STRING)
    user_endpoint: Endpoint | None = field(Endpoint, nullable="0+", default=None)
    client_tags: list[KeyValue] = field(array(KeyValue))
    task_offsets: list[TaskOffset] = field(array(TaskOffset))
    task_end_offsets: list[TaskOffset] = field(array(TaskOffset))
    assignment: Assignment = field(Assignment)
    target_assignment: Assignment = field(Assignment)
    is_classic: bool = field(BOOL)


class DescribedGroup(Struct):
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+", default=None)
    group_id: str = field(STRING)
    group_state: str = field(STRING)
    group_epoch: int = field(INT32)
    assignment_epoch: int = field(INT32)
    topology: Topology | None = field(Topology, nullable="0+", default=None)
    members: list[Member] = field(array(Member))
    authorized_operations: int = field(INT32, default=-0x8000_0000)


class StreamsGroupDescribeResponse(Response, key=89, versions="0", flexible="0+"):
    throttle_time_ms: int = field(INT32, default=0)
    groups: list[DescribedGroup] = field(array(DescribedGroup))
