"""StreamsGroupDescribe (key 89), versions 0 to 1, flexible: state, topology, members and tasks of groups of the
streams protocol.

Versions: 1 the topology as its program describes it, where one asks for it (KIP-1331), and the group's assignor
(KIP-1357).
"""

from barnabas.protocol.codec.schema import (
    BOOL,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    UINT16,
    Request,
    Response,
    Struct,
    array,
    field,
)


class StreamsGroupDescribeRequest(Request, key=89, versions="0-1", flexible="0+"):
    group_ids: list[str] = field(array(STRING))
    include_authorized_operations: bool = field(BOOL)
    include_topology_description: bool = field(BOOL, versions="1+", default=False)


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


class TopologyDescriptionNode(Struct):
    name: str = field(STRING)
    node_type: int = field(INT8)  # 1 source, 2 processor, 3 sink
    source_topics: list[str] = field(array(STRING))
    sink_topic: str | None = field(STRING, nullable="1+", default=None)
    stores: list[str] = field(array(STRING))
    successors: list[str] = field(array(STRING))


class TopologyDescriptionSubtopology(Struct):
    subtopology_id: str = field(STRING)
    nodes: list[TopologyDescriptionNode] = field(array(TopologyDescriptionNode))


class TopologyDescriptionGlobalStore(Struct):
    source: TopologyDescriptionNode = field(TopologyDescriptionNode)
    processor: TopologyDescriptionNode = field(TopologyDescriptionNode)


class TopologyDescription(Struct):
    subtopologies: list[TopologyDescriptionSubtopology] = field(array(TopologyDescriptionSubtopology))
    global_stores: list[TopologyDescriptionGlobalStore] = field(array(TopologyDescriptionGlobalStore))


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
    topology_description: TopologyDescription | None = field(
        TopologyDescription, versions="1+", nullable="1+", default=None
    )
    # 0 not requested, 1 there is none, 2 it could not be obtained, 3 it is there
    topology_description_status: int = field(INT8, versions="1+", default=0)
    assignor_name: str | None = field(STRING, versions="1+", nullable="1+", default=None, ignorable=True)


class StreamsGroupDescribeResponse(Response, key=89, versions="0-1", flexible="0+"):
    throttle_time_ms: int = field(INT32, default=0)
    groups: list[DescribedGroup] = field(array(DescribedGroup))
