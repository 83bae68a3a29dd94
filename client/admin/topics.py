"""Administration of topics and their partitions. One function per operation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from barnabas.client.admin.admin_requests import no_answer, request_controller
from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.connections.connection import BrokerConnection
from barnabas.client.errors import raise_for
from barnabas.client.metadata import ClusterInfo, TopicInfo
from barnabas.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from barnabas.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.protocol.primitives import ZERO_UUID
from barnabas.protocol.registry import ApiKey

Assignment = Sequence[Sequence[int]]
"""Nodes by partition."""


def list_topics(client: Client) -> list[TopicInfo]:
    """Return every topic, by name, including internal ones."""
    found = client.refresh(None, client.deadline())
    return sorted(found.topics.values())


def describe_topics(client: Client, names: Iterable[str]) -> list[TopicInfo]:
    """Return the named topics, in that order; KafkaError for the first missing one. Creates nothing."""
    wanted = list(names)
    found: ClusterInfo = client.refresh(wanted, client.deadline())
    return [found.topic(name) for name in wanted]


def create_topic(
    client: Client,
    name: str,
    *,
    partitions: int = -1,
    replication_factor: int = -1,
    configs: Mapping[str, str] | None = None,
    assignment: Assignment = (),
    validate_only: bool = False,
) -> bytes:
    """Create a topic; return its id (zeros if the broker does not send it). -1: the broker's default number.

    assignment: the nodes of each partition, instead of numbers.
    """

    def attempt(connection: BrokerConnection, deadline: Deadline) -> bytes:
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=replication_factor,
            assignments=[
                CreatableReplicaAssignment(partition_index=number, broker_ids=list(nodes))
                for number, nodes in enumerate(assignment)
            ],
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()],
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=deadline.left_ms, validate_only=validate_only)
        for result in connection.ask(request, deadline).topics:
            raise_for(result.error_code, result.error_message, f"topic {name!r}")
            return bytes(result.topic_id)
        raise no_answer(f"topic {name!r}")

    topic_id = request_controller(client, attempt)
    client.forget([name])
    return topic_id


def delete_topic(client: Client, name: str) -> None:
    """Delete a topic with everything in it."""

    def attempt(connection: BrokerConnection, deadline: Deadline) -> None:
        request = DeleteTopicsRequest(topic_names=[name], timeout_ms=deadline.left_ms)
        if connection.version(ApiKey.DELETE_TOPICS) >= 6:
            request.topics = [DeleteTopicState(name=name, topic_id=ZERO_UUID)]
        for result in connection.ask(request, deadline).responses:
            return raise_for(result.error_code, result.error_message, f"topic {name!r}")
        raise no_answer(f"topic {name!r}")

    request_controller(client, attempt)
    client.forget([name])


def create_partitions(
    client: Client, name: str, total: int, *, assignment: Assignment | None = None, validate_only: bool = False
) -> None:
    """Increase a topic's number of partitions to `total`. assignment: the nodes of each new partition."""

    def attempt(connection: BrokerConnection, deadline: Deadline) -> None:
        new = None if assignment is None else [CreatePartitionsAssignment(broker_ids=list(each)) for each in assignment]
        topic = CreatePartitionsTopic(name=name, count=total, assignments=new)
        request = CreatePartitionsRequest(topics=[topic], timeout_ms=deadline.left_ms, validate_only=validate_only)
        for result in connection.ask(request, deadline).results:
            return raise_for(result.error_code, result.error_message, f"topic {name!r}")
        raise no_answer(f"topic {name!r}")

    request_controller(client, attempt)
    client.forget([name])
