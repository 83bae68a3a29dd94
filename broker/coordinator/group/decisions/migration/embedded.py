"""The embedded data of classic members, in the form of consumer groups: by topic id, not by name.

Topics that no longer exist are left out. The version of the assignment is that of the member's metadata.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from barnabas.broker.coordinator.group.decisions.consumer.model import Claimed, Topics
from barnabas.broker.coordinator.group.decisions.consumer.reconciliation import claimed
from barnabas.protocol.codec.compile import codec
from barnabas.protocol.log_records.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
)

_NEWEST_VERSION = ConsumerProtocolAssignment.__schema__.valid_versions[-1]


def owned_partitions(subscription: ConsumerProtocolSubscription, topics: Topics) -> Claimed:
    """Return the partitions that a member claims when it rejoins."""
    ids = topics.ids
    return claimed((ids[each.topic], each.partitions) for each in subscription.owned_partitions if each.topic in ids)


def assigned_partitions(assignment: ConsumerProtocolAssignment, topics: Topics) -> dict[bytes, tuple[int, ...]]:
    """Return the partitions that the leader of its group assigned to a member, in ascending order.

    Partitions that do not exist are left out, as if their topic was created again with fewer of them.
    """
    ids, counts = topics.ids, topics.partition_counts
    found = claimed((ids[each.topic], each.partitions) for each in assignment.assigned_partitions if each.topic in ids)
    there = {
        topic_id: tuple(number for number in sorted(partitions) if 0 <= number < counts[topic_id])
        for topic_id, partitions in found.items()
    }
    return {topic_id: numbers for topic_id, numbers in there.items() if numbers}


def assignment_bytes(partitions: Mapping[bytes, Iterable[int]], metadata: bytes, topics: Topics) -> bytes:
    """Return an assignment for a member that sent this metadata."""
    assignment = ConsumerProtocolAssignment(
        assigned_partitions=[
            ConsumerProtocolAssignmentTopicPartition(topic=name, partitions=sorted(numbers))
            for topic_id, numbers in partitions.items()
            if (name := topics.name_of(topic_id)) is not None
        ]
    )
    version = max(0, min(int.from_bytes(metadata[:2], "big", signed=True), _NEWEST_VERSION))
    return version.to_bytes(2, "big") + codec(ConsumerProtocolAssignment, version).encode(assignment)
