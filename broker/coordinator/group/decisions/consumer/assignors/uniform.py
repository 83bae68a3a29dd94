"""The assignor `uniform`, Kafka's default: equal numbers of partitions, with as few moved as that permits.

`uniform_homogeneous.py` has it for members of equal subscriptions, `uniform_heterogeneous.py` for others.
"""

from __future__ import annotations

from barnabas.broker.coordinator.group.decisions.consumer.assignors.model import GroupSpec, Steps, SubscriptionType
from barnabas.broker.coordinator.group.decisions.consumer.assignors.uniform_heterogeneous import assign_heterogeneous
from barnabas.broker.coordinator.group.decisions.consumer.assignors.uniform_homogeneous import assign_homogeneous


def assign(spec: GroupSpec) -> Steps:
    """Return the new targets of the members. Raises AssignorError."""
    if not spec.members:
        return {}
    if spec.subscription_type is SubscriptionType.HOMOGENEOUS:
        return (yield from assign_homogeneous(spec))
    return (yield from assign_heterogeneous(spec))
