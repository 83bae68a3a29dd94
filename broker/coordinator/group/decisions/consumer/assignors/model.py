"""What an assignor is given, and what it returns (KIP-848).

Plain values. Nothing here knows records, names of topics or the group they belong to.

The order of what is given can decide the outcome, since Kafka keeps it in hash tables and goes through these: each
field says which order it has. Whoever has it in no order at all still gets a valid assignment, but not always Kafka's.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

Assignment: TypeAlias = Mapping[bytes, Sequence[int]]
"""Topic id (16 bytes) to its partitions, each once: the target assignment of one member. The order, of topics and of
partitions, is that of Kafka's ConsumerGroupTargetAssignmentMember record: to be written as it is returned, and given
back as it was read."""

NOTHING: Assignment = MappingProxyType({})

Targets: TypeAlias = dict[str, Assignment]
"""Member id to its new assignment, for every member, in the order in which Kafka writes the records. Kafka writes none
for a member whose partitions are the same as before, whatever their order: the old record stays, and its order."""

Steps: TypeAlias = Generator[None, None, Targets]
"""An assignment in steps, of a millisecond at most in a group of 500 members, with the new targets at the end. It can
be given up at any of them. What it is given must not change meanwhile."""


class SubscriptionType(Enum):
    """Whether all members subscribe to the same topic names. It picks the algorithm, also where the ids are equal."""

    HOMOGENEOUS = "homogeneous"
    HETEROGENEOUS = "heterogeneous"


class Subscription(NamedTuple):
    """What a member subscribes to, as `input_order.subscription` makes it from names."""

    topic_ids: tuple[bytes, ...] = ()
    """Those of its topics that exist, each once, in the order of Kafka's set of their names."""
    names: int = 0
    """How many names it subscribes to, of topics that exist or not. It is the size of one of Kafka's tables."""


class Member(NamedTuple):
    """A member of the group. Kafka's assignors do not look at its rack, so it is not here."""

    subscription: Subscription = Subscription()
    assignment: Assignment = NOTHING
    """Its target so far. Partitions of subscribed topics exist, and have no other owner in the group."""
    instance_id: str | None = None
    """Of a static member; no two have the same."""


class GroupSpec(NamedTuple):
    """A group, as an assignor sees it."""

    members: Mapping[str, Member]
    """By member id, in the order of `input_order.timeline_order`; who joins with this heartbeat comes last."""
    partitions: Mapping[bytes, int]
    """How many partitions each topic has, at least one, by topic id."""
    subscription_type: SubscriptionType


class AssignorError(Exception):
    """No assignment can be made: a member subscribes to a topic id that `GroupSpec.partitions` does not have."""


def partitions_of(spec: GroupSpec, topic_id: bytes) -> int:
    """How many partitions a subscribed topic has. Raises AssignorError if nobody knows."""
    count = spec.partitions.get(topic_id)
    if count is None:
        raise AssignorError(f"a member subscribes to {topic_id.hex()}, and there is no topic with this id")
    return count
