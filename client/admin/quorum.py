"""The description of a cluster's metadata quorum."""

from __future__ import annotations

from barnabas.client.admin.admin_requests import no_answer
from barnabas.client.client import Client
from barnabas.client.errors import raise_for
from barnabas.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
    DescribeQuorumResponse,
    DescribeQuorumResponsePartitionData,
    Node,
)

_METADATA_TOPIC = "__cluster_metadata"


def describe_quorum(client: Client) -> tuple[DescribeQuorumResponsePartitionData, list[Node]]:
    """Return the state of the quorum's only partition, and the nodes of its voters. KafkaError."""
    partitions = [DescribeQuorumRequestPartitionData(partition_index=0)]
    requested = DescribeQuorumRequestTopicData(topic_name=_METADATA_TOPIC, partitions=partitions)
    answer: DescribeQuorumResponse = client.ask_any(DescribeQuorumRequest(topics=[requested]))
    raise_for(answer.error_code, answer.error_message, "metadata quorum")
    for topic in answer.topics:
        for partition in topic.partitions:
            raise_for(partition.error_code, partition.error_message, "metadata quorum")
            return partition, answer.nodes
    raise no_answer("metadata quorum")
