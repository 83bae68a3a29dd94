"""Whether a consumer group has completed a rebalance, from ConsumerGroupDescribe (KIP-848). Pure: it sends nothing.

A member that joins creates a new epoch, and every other member follows with its next heartbeat. As long as one has
not, the group is Reconciling: that one may be lost without leaving, and then its partitions are free when its session
ends. So a member that has nothing more to read, or nothing at all, can be sure that it gets no more partitions only in
a group that is Stable.
"""

from __future__ import annotations

from collections.abc import Set

from barnabas.client.consume.heartbeats import TopicIdPartition, assigned
from barnabas.client.errors import raise_for
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeResponse, DescribedGroup

STABLE = "Stable"


def one_group(response: ConsumerGroupDescribeResponse, where: str) -> DescribedGroup:
    """Return the description of the only requested group; KafkaError with its error code."""
    if len(response.groups) != 1:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{where}: the broker described {len(response.groups)} groups")
    (group,) = response.groups
    raise_for(group.error_code, group.error_message, where)
    return group


def is_through(group: DescribedGroup, member_id: str, owned: Set[TopicIdPartition]) -> bool:
    """Return whether every member has its assignment, and this one owns all of its own."""
    targets = [assigned(each.target_assignment) for each in group.members if each.member_id == member_id]
    return group.group_state == STABLE and len(targets) == 1 and targets[0] <= owned
