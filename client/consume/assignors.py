"""The assignment in a group: Kafka's range assignor, and the bytes that members exchange for it. Pure.

Range: the partitions of each topic, in order, are divided among the members that subscribe to it; the first members
(by id) get one more if they cannot be divided evenly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from barnabas.client.metadata import TopicPartition
from barnabas.protocol.codec.compile import codec
from barnabas.protocol.log_records.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
    decode_assignment,
    decode_subscription,
)

PROTOCOL_TYPE = "consumer"
RANGE = "range"
_VERSION = 0
_VERSION_PREFIX = _VERSION.to_bytes(2, "big")


def range_assignment(
    subscriptions: Mapping[str, Iterable[str]], partition_counts: Mapping[str, int]
) -> dict[str, list[TopicPartition]]:
    """Return partitions by member id, from the topics that each member subscribes to. Unknown topics are left out."""
    assigned: dict[str, list[TopicPartition]] = {member: [] for member in subscriptions}
    by_topic: dict[str, list[str]] = {}
    for member, topics in sorted(subscriptions.items()):
        for topic in set(topics):
            by_topic.setdefault(topic, []).append(member)
    for topic, members in sorted(by_topic.items()):
        share, extra = divmod(partition_counts.get(topic, 0), len(members))
        first = 0
        for index, member in enumerate(members):
            after = first + share + (index < extra)
            assigned[member] += [(topic, partition) for partition in range(first, after)]
            first = after
    return assigned


def encode_subscription(topics: Iterable[str]) -> bytes:
    """Return the subscription bytes that a member sends when it joins."""
    message = ConsumerProtocolSubscription(topics=sorted(topics))
    return _VERSION_PREFIX + codec(ConsumerProtocolSubscription, _VERSION).encode(message)


def subscribed_topics(data: bytes) -> list[str]:
    """Return the topics of a member's subscription; DecodeError for other bytes."""
    return decode_subscription(data).topics


def encode_assignment(partitions: Iterable[TopicPartition]) -> bytes:
    """Return the bytes of a member's assignment."""
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    message = ConsumerProtocolAssignment(
        assigned_partitions=[
            ConsumerProtocolAssignmentTopicPartition(topic=topic, partitions=numbers)
            for topic, numbers in topics.items()
        ]
    )
    return _VERSION_PREFIX + codec(ConsumerProtocolAssignment, _VERSION).encode(message)


def assigned_partitions(data: bytes) -> list[TopicPartition]:
    """Return the partitions of a member's assignment; empty bytes are none. DecodeError for other bytes."""
    if not data:
        return []
    assignment = decode_assignment(data)
    return [(each.topic, partition) for each in assignment.assigned_partitions for partition in each.partitions]
