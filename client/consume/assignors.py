"""Who reads what in a group: Kafka's range assignor, and the bytes members exchange about it. Pure.

Range: of each topic, its partitions in order are cut into as many pieces as members subscribe to it; the first members
(by id) get one more where it does not come out even.
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
    """Partitions by member id, given what each member subscribes to. Topics nobody knows are left out."""
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
    """What a member says when it joins."""
    message = ConsumerProtocolSubscription(topics=sorted(topics))
    return _VERSION_PREFIX + codec(ConsumerProtocolSubscription, _VERSION).encode(message)


def subscribed_topics(data: bytes) -> list[str]:
    """The topics in what a member said; DecodeError if it is something else."""
    return decode_subscription(data).topics


def encode_assignment(partitions: Iterable[TopicPartition]) -> bytes:
    """What a member is assigned to read."""
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
    """The partitions in a member's assignment; empty bytes are none. DecodeError if it is something else."""
    if not data:
        return []
    assignment = decode_assignment(data)
    return [(each.topic, partition) for each in assignment.assigned_partitions for partition in each.partitions]
