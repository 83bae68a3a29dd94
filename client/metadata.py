"""Brokers, topics and leaders, from Metadata responses. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from barnabas.client.addresses import Address
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.metadata import MetadataResponse, MetadataResponseTopic

TopicPartition = tuple[str, int]
"""A topic's name and a partition's number."""


class PartitionInfo(NamedTuple):
    """One partition. `leader_id` is -1 while there is none."""

    leader_id: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    error_code: int


class TopicInfo(NamedTuple):
    """One topic; its partitions by number."""

    name: str
    topic_id: bytes
    is_internal: bool
    error_code: int
    partitions: dict[int, PartitionInfo]


class Leaders(NamedTuple):
    """Partitions by their leader node, and the reason for partitions without a known leader."""

    by_node: dict[int, list[TopicPartition]]
    failures: dict[TopicPartition, KafkaError]


class ClusterInfo(NamedTuple):
    """Brokers, and the requested topics."""

    cluster_id: str | None
    controller_id: int
    brokers: dict[int, Address]
    topics: dict[str, TopicInfo]

    def topic(self, name: str) -> TopicInfo:
        """Return the topic if it exists and is usable; else raise KafkaError with the broker's code."""
        topic = self.topics.get(name)
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic is None else topic.error_code
        if topic is None or code != ErrorCode.NONE:
            raise KafkaError(ErrorCode(code), f"topic {name!r}: {ErrorCode(code).message}")
        return topic

    def leader(self, name: str, partition: int) -> int:
        """Return the leader node of the partition; KafkaError (retriable) if there is none."""
        info = self.topic(name).partitions.get(partition)
        if info is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name!r} has no partition {partition}")
        if info.leader_id not in self.brokers:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"{name}-{partition} has no leader")
        return info.leader_id

    def leaders(self, places: Iterable[TopicPartition]) -> Leaders:
        """Return the leaders of these partitions."""
        found = Leaders({}, {})
        for where in places:
            try:
                found.by_node.setdefault(self.leader(*where), []).append(where)
            except KafkaError as error:
                found.failures[where] = error
        return found

    def merged(self, newer: ClusterInfo) -> ClusterInfo:
        """Return the brokers of `newer`, and its topics over those known so far."""
        return newer._replace(topics={**self.topics, **newer.topics})


NOTHING_KNOWN = ClusterInfo(None, -1, {}, {})


def read_metadata(response: MetadataResponse) -> ClusterInfo:
    """Return the response as a ClusterInfo. Topics named only by an unknown id are left out."""
    return ClusterInfo(
        cluster_id=response.cluster_id,
        controller_id=response.controller_id,
        brokers={broker.node_id: Address(broker.host, broker.port) for broker in response.brokers},
        topics={topic.name: _read_topic(topic.name, topic) for topic in response.topics if topic.name is not None},
    )


def _read_topic(name: str, topic: MetadataResponseTopic) -> TopicInfo:
    partitions = {
        partition.partition_index: PartitionInfo(
            leader_id=partition.leader_id,
            leader_epoch=partition.leader_epoch,
            replicas=tuple(partition.replica_nodes),
            isr=tuple(partition.isr_nodes),
            error_code=partition.error_code,
        )
        for partition in sorted(topic.partitions, key=lambda each: each.partition_index)
    }
    return TopicInfo(name, topic.topic_id, topic.is_internal, topic.error_code, partitions)
