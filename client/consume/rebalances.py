"""Whether a consumer group is through with a rebalance, out of ConsumerGroupDescribe (KIP-848). Pure: it asks nobody.

A member that joins makes a new epoch, and every other member follows with its next heartbeat. As long as one has not,
the group is Reconciling: that one may be gone without a word, and then its partitions are free when its session ends.
So a member that has nothing more to read, or nothing at all, knows that nothing is on its way to it only in a group
that is Stable.
"""

from __future__ import annotations

from collections.abc import Set

from barnabas.client.consume.heartbeats import TopicIdPartition, assigned
from barnabas.client.errors import raise_for
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeResponse, DescribedGroup

STABLE = "Stable"


def one_group(response: ConsumerGroupDescribeResponse, where: str) -> DescribedGroup:
    """What is said of the only group that was asked for; KafkaError with the code it has."""
    if len(response.groups) != 1:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{where}: the broker described {len(response.groups)} groups")
    (group,) = response.groups
    raise_for(group.error_code, group.error_message, where)
    return group


def is_through(group: DescribedGroup, member_id: str, owned: Set[TopicIdPartition]) -> bool:
    """Whether every member has what it is to have, and this one owns all of that."""
    targets = [assigned(each.target_assignment) for each in group.members if each.member_id == member_id]
    return group.group_state == STABLE and len(targets) == 1 and targets[0] <= owned
