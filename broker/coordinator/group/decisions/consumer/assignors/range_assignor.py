"""The assignor `range`: each subscriber of a topic gets one range of consecutive partitions, static members first.

Topics with equally many partitions are divided alike if all members subscribe to the same, so that partition n of each
has the same owner. The previous assignment does not matter.

Java's order matters only for the topics of a record: members are sorted by rules without ties, and no topic depends on
another. Static members come first, by instance id, so that one that comes back as another member gets the same
partitions; then the others, by member id.
"""

from __future__ import annotations

from collections import Counter

from barnabas.broker.coordinator.group.decisions.consumer.assignors.hash_order import (
    TOPIC_ID,
    HashOrder,
    roomy_table_size,
)
from barnabas.broker.coordinator.group.decisions.consumer.assignors.input_order import member_order
from barnabas.broker.coordinator.group.decisions.consumer.assignors.model import (
    Assignment,
    GroupSpec,
    MemberSpec,
    Steps,
    Subscription,
    SubscriptionType,
    Targets,
    partitions_of,
)
from barnabas.broker.coordinator.runtime.partition_for import utf16


def assign(spec: GroupSpec) -> Steps:
    """Return the new targets of the members. Raises AssignorError."""
    member_ids = yield from member_order(spec.members)
    ranked = sorted(member_ids, key=lambda member_id: _rank(member_id, spec.members[member_id]))
    subscriptions = _subscriptions(spec, ranked)
    subscribers = Counter(topic_id for subscription in subscriptions.values() for topic_id in subscription.topic_ids)
    shares = {topic_id: divmod(partitions_of(spec, topic_id), count) for topic_id, count in subscribers.items()}
    served: Counter[bytes] = Counter()  # how many subscribers of each topic have their range
    targets: Targets = {}
    for member_id in ranked:
        ranges: dict[bytes, range] = {}
        for topic_id in subscriptions[member_id].topic_ids:
            share, larger_shares = shares[topic_id]
            before = served[topic_id]
            served[topic_id] += 1
            begin = before * share + min(before, larger_shares)
            size = share + (before < larger_shares)
            if size:
                ranges[topic_id] = range(begin, begin + size)
        targets[member_id] = _in_javas_order(ranges, subscriptions[member_id].names)
        yield
    return {member_id: targets[member_id] for member_id in member_ids}


def _rank(member_id: str, member: MemberSpec) -> tuple[bool, bytes]:
    is_static = member.instance_id is not None
    return not is_static, utf16(member_id if member.instance_id is None else member.instance_id)


def _subscriptions(spec: GroupSpec, ranked: list[str]) -> dict[str, Subscription]:
    """Return subscriptions by member id, with as many names as Kafka reserves room for.

    If all members subscribe to the same, these are the existing topics, and the first member's subscription counts for
    all.
    """
    if not ranked or spec.subscription_type is SubscriptionType.HETEROGENEOUS:
        return {member_id: spec.members[member_id].subscription for member_id in ranked}
    topic_ids = spec.members[ranked[0]].subscription.topic_ids
    return dict.fromkeys(ranked, Subscription(topic_ids, len(topic_ids)))


def _in_javas_order(ranges: dict[bytes, range], names: int) -> Assignment:
    order = HashOrder(TOPIC_ID, roomy_table_size(names), ranges)
    return {topic_id: ranges[topic_id] for topic_id in order.in_order()}
