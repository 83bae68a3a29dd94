"""StreamsGroupTopologyDescriptionUpdate (key 93), version 0, flexible: a member of a group of the streams protocol
describes the topology it runs, for the answers to StreamsGroupDescribe (KIP-1331).
"""

from barnabas.protocol.codec.schema import INT8, INT16, INT32, STRING, Request, Response, Struct, array, field


class TopologyDescriptionNode(Struct):
    name: str = field(STRING)
    node_type: int = field(INT8)  # 1 source, 2 processor, 3 sink
    source_topics: list[str] = field(array(STRING))
    sink_topic: str | None = field(STRING, nullable="0+", default=None)
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


class StreamsGroupTopologyDescriptionUpdateRequest(Request, key=93, versions="0", flexible="0+"):
    group_id: str = field(STRING)
    member_id: str = field(STRING)
    topology_epoch: int = field(INT32)
    topology_description: TopologyDescription = field(TopologyDescription)


class StreamsGroupTopologyDescriptionUpdateResponse(Response, key=93, versions="0", flexible="0+"):
    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+", default=None)
