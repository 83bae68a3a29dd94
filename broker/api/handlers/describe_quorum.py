"""DescribeQuorum (key 55), v0-2: the metadata quorum. This node is the leader of a quorum of one (KIP-595).

The log is `__cluster_metadata-0`, and a request for exactly that is answered with the epoch of this run and the log end
offset, which is the high watermark, too: every record is on the disk before it counts. Anything else, or more, is
UNKNOWN_TOPIC_OR_PARTITION. With several nodes the first stores the log, whether it is stopped or not, and the others
that run are observers, which have read it all. There is no controller listener to name
(docs/differences.md). Versions: 1 times; 2 directory ids, error messages, and the voters' listeners.
"""

from asyncio import Future

from barnabas.broker.services import RequestContext, Services
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.files.names import CLUSTER_METADATA_TOPIC
from barnabas.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
    DescribeQuorumResponse,
    DescribeQuorumResponsePartitionData,
    DescribeQuorumResponseTopicData,
    Node,
    ReplicaState,
)
from barnabas.protocol.primitives import ZERO_UUID
from barnabas.storage.steps import Pauses, Steps

_PARTITION = 0
_DIRECTORIES_SINCE = 2


def handle(
    request: DescribeQuorumRequest, context: RequestContext
) -> DescribeQuorumResponse | Future[DescribeQuorumResponse]:
    if not _asks_for_the_log(request.topics):
        return context.services.request_scheduler.in_slices(lambda: _all_unknown(request.topics))
    has_directories = context.api_version >= _DIRECTORIES_SINCE
    described = _describe(context.services, has_directories)
    response = DescribeQuorumResponse(
        error_code=ErrorCode.NONE,
        topics=[DescribeQuorumResponseTopicData(topic_name=CLUSTER_METADATA_TOPIC, partitions=[described])],
    )
    if has_directories:
        response.nodes = [Node(node_id=described.leader_id, listeners=[])]
    return response


def _asks_for_the_log(topics: list[DescribeQuorumRequestTopicData]) -> bool:
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        return False
    (topic,) = topics
    return topic.topic_name == CLUSTER_METADATA_TOPIC and topic.partitions[0].partition_index == _PARTITION


def _describe(services: Services, has_directories: bool) -> DescribeQuorumResponsePartitionData:
    leadership, now_ms = services.catalogue.leadership, services.clock.now_ms()

    def state(node_id: int) -> ReplicaState:
        return ReplicaState(
            replica_id=node_id,
            replica_directory_id=leadership.directory_id if has_directories else ZERO_UUID,
            log_end_offset=leadership.end_offset,
            last_fetch_timestamp=now_ms,
            last_caught_up_timestamp=now_ms,
        )

    running = [node.node_id for node in services.cluster.nodes(services.node)]
    return DescribeQuorumResponsePartitionData(
        partition_index=_PARTITION,
        error_code=ErrorCode.NONE,
        leader_id=leadership.node_id,
        leader_epoch=leadership.epoch,
        high_watermark=leadership.end_offset,
        current_voters=[state(leadership.node_id)],
        observers=[state(node_id) for node_id in running if node_id != leadership.node_id],
    )


def _all_unknown(requested: list[DescribeQuorumRequestTopicData]) -> Steps[DescribeQuorumResponse]:
    topics: list[DescribeQuorumResponseTopicData] = []
    pauses = Pauses()
    for topic in requested:
        partitions: list[DescribeQuorumResponsePartitionData] = []
        topics.append(DescribeQuorumResponseTopicData(topic_name=topic.topic_name, partitions=partitions))
        if pauses.is_due():
            yield
        for partition in topic.partitions:
            partitions.append(_unknown(partition))
            if pauses.is_due():
                yield
    return DescribeQuorumResponse(error_code=ErrorCode.NONE, topics=topics)


def _unknown(requested: DescribeQuorumRequestPartitionData) -> DescribeQuorumResponsePartitionData:
    return DescribeQuorumResponsePartitionData(
        partition_index=requested.partition_index,
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        error_message="This server does not host this topic-partition.",
        leader_id=0,
        leader_epoch=0,
        high_watermark=0,
        current_voters=[],
        observers=[],
    )
