"""Administration of nodes: listing, stopping, starting them, and moving leaders. One function per operation.

Leaders are moved with Kafka's own requests, so that works with Apache Kafka, too, where copying takes time. Stopping
and starting nodes works with a Barnabas of several brokers (`barnabas serve --brokers`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from barnabas.client.admin.admin_requests import request_controller
from barnabas.client.admin.configs import ConfigChange, ConfigOperation, ResourceType, alter_configs
from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.connections.connection import BrokerConnection
from barnabas.client.errors import raise_for
from barnabas.client.metadata import TopicPartition
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from barnabas.protocol.messages.unregister_broker import UnregisterBrokerRequest
from barnabas.protocol.messages.unregister_controller import UnregisterControllerRequest

_STOPPED_NODES = "barnabas.nodes.stopped"
_PREFERRED = 0


class ClusterNode(NamedTuple):
    """A node in a DescribeCluster response."""

    node_id: int
    host: str
    port: int
    rack: str | None
    is_stopped: bool
    """Always False from brokers that do not know version 2 of the request."""


def list_nodes(client: Client) -> list[ClusterNode]:
    """Return all nodes by their ids, including stopped ones. KafkaError."""

    def attempt(connection: BrokerConnection, deadline: Deadline) -> list[ClusterNode]:
        request = DescribeClusterRequest(include_cluster_authorized_operations=False, include_fenced_brokers=True)
        answer = connection.ask(request, deadline)
        raise_for(answer.error_code, answer.error_message, "the cluster")
        return [ClusterNode(each.broker_id, each.host, each.port, each.rack, each.is_fenced) for each in answer.brokers]

    return request_controller(client, attempt)


def stop_node(client: Client, node_id: int) -> None:
    """Stop the node while the others serve. KafkaError."""
    _switch(client, ConfigOperation.APPEND, node_id)


def start_node(client: Client, node_id: int) -> None:
    """Start a stopped node. KafkaError."""
    _switch(client, ConfigOperation.SUBTRACT, node_id)


def _switch(client: Client, operation: ConfigOperation, node_id: int) -> None:
    alter_configs(client, ResourceType.BROKER, "", [ConfigChange(_STOPPED_NODES, operation, str(node_id))])


def unregister_broker(client: Client, node_id: int) -> None:
    """Let the cluster forget a broker that is gone. KafkaError."""

    def attempt(connection: BrokerConnection, deadline: Deadline) -> None:
        answer = connection.ask(UnregisterBrokerRequest(broker_id=node_id), deadline)
        raise_for(answer.error_code, answer.error_message, f"node {node_id}")

    request_controller(client, attempt)


def unregister_controller(client: Client, node_id: int) -> None:
    """Let the cluster forget a controller that is gone. KafkaError."""

    def attempt(connection: BrokerConnection, deadline: Deadline) -> None:
        answer = connection.ask(UnregisterControllerRequest(controller_id=node_id), deadline)
        raise_for(answer.error_code, answer.error_message, f"node {node_id}")

    request_controller(client, attempt)


def reassign(client: Client, wishes: Mapping[TopicPartition, Sequence[int]]) -> None:
    """Assign partitions to these nodes, the first of which becomes the leader. KafkaError for the first refused one."""
    topics = [
        ReassignableTopic(name=topic, partitions=[ReassignablePartition(partition_index=number, replicas=list(nodes))])
        for (topic, number), nodes in wishes.items()
    ]

    def attempt(connection: BrokerConnection, deadline: Deadline) -> None:
        request = AlterPartitionReassignmentsRequest(timeout_ms=client.timeout_ms, topics=topics)
        answer = connection.ask(request, deadline)
        raise_for(answer.error_code, answer.error_message, "reassignment")
        for topic in answer.responses:
            for each in topic.partitions:
                raise_for(each.error_code, each.error_message, f"{topic.name}-{each.partition_index}")

    request_controller(client, attempt)


def elect_preferred(client: Client, places: Sequence[TopicPartition]) -> None:
    """Elect the first replica of each of these partitions, if it is not the leader. KafkaError for the first."""
    listed = [TopicPartitions(topic=topic, partitions=[number]) for topic, number in places]

    def attempt(connection: BrokerConnection, deadline: Deadline) -> None:
        request = ElectLeadersRequest(election_type=_PREFERRED, topic_partitions=listed, timeout_ms=client.timeout_ms)
        answer = connection.ask(request, deadline)
        raise_for(answer.error_code, None, "election")
        for topic in answer.replica_election_results:
            for each in topic.partition_result:
                if each.error_code != ErrorCode.ELECTION_NOT_NEEDED:
                    raise_for(each.error_code, each.error_message, f"{topic.topic}-{each.partition_id}")

    request_controller(client, attempt)
