"""What members of the classic protocol put into its opaque bytes, as consumer groups have it: by topic id, not by name.

Topics that are not there any more are left out. The version of the assignment is that of the member's metadata.
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
    """What a member says that it has, when it joins again."""
    ids = topics.ids
    return claimed((ids[each.topic], each.partitions) for each in subscription.owned_partitions if each.topic in ids)


def assigned_partitions(assignment: ConsumerProtocolAssignment, topics: Topics) -> dict[bytes, tuple[int, ...]]:
    """What a member was assigned by the leader of its group, in ascending order.

    Partitions that do not exist are left out, as if their topic were made anew with fewer of them.
    """
    ids, counts = topics.ids, topics.partition_counts
    found = claimed((ids[each.topic], each.partitions) for each in assignment.assigned_partitions if each.topic in ids)
    there = {
        topic_id: tuple(number for number in sorted(partitions) if 0 <= number < counts[topic_id])
        for topic_id, partitions in found.items()
    }
    return {topic_id: numbers for topic_id, numbers in there.items() if numbers}


def assignment_bytes(partitions: Mapping[bytes, Iterable[int]], metadata: bytes, topics: Topics) -> bytes:
    """An assignment for a member that sent this metadata."""
    assignment = ConsumerProtocolAssignment(
        assigned_partitions=[
            ConsumerProtocolAssignmentTopicPartition(topic=name, partitions=sorted(numbers))
            for topic_id, numbers in partitions.items()
            if (name := topics.name_of(topic_id)) is not None
        ]
    )
    version = max(0, min(int.from_bytes(metadata[:2], "big", signed=True), _NEWEST_VERSION))
    return version.to_bytes(2, "big") + codec(ConsumerProtocolAssignment, version).encode(assignment)
