"""The input and the result of an assignor (KIP-848).

Plain values. Nothing here knows records, names of topics or the group they belong to.

The order of the input can decide the result, since Kafka has it in hash tables and iterates over these: each field
documents its order. Input in another order still gives a valid assignment, but not always Kafka's.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

Assignment: TypeAlias = Mapping[bytes, Sequence[int]]
"""Topic id (16 bytes) to its partitions, each once: the target assignment of one member. The order, of topics and of
partitions, is that of Kafka's ConsumerGroupTargetAssignmentMember record: write it as returned, and pass it as read."""

NOTHING: Assignment = MappingProxyType({})

MEMBERS_AT_ONCE = 20
"""Members with few partitions each, in one step."""
_PARTITIONS_OF_A_MEMBER = 50

Targets: TypeAlias = dict[str, Assignment]
"""Member id to its new assignment, for every member, in the order in which Kafka writes the records. Kafka writes
none for a member whose partitions are the same as before, in any order: the old record stays, and its order."""

Steps: TypeAlias = Generator[None, None, Targets]
"""An assignment in steps, of a millisecond at most in a group of 500 members, with the new targets at the end. It
can be cancelled at any of them. Its input must not change in the meantime."""


class SubscriptionType(Enum):
    """Whether all members subscribe to the same topic names. Selects the algorithm, also if the ids are equal."""

    HOMOGENEOUS = "homogeneous"
    HETEROGENEOUS = "heterogeneous"


class Subscription(NamedTuple):
    """A member's subscription, as `input_order.subscription` makes it from names."""

    topic_ids: tuple[bytes, ...] = ()
    """The ids of its existing topics, each once, in the order of Kafka's set of their names."""
    names: int = 0
    """How many names it subscribes to, of topics that exist or not: the size of one of Kafka's tables."""


class MemberSpec(NamedTuple):
    """A member of the group. Kafka's assignors ignore its rack, so it is not here."""

    subscription: Subscription = Subscription()
    assignment: Assignment = NOTHING
    """Its target so far. Partitions of subscribed topics exist, and have no other owner in the group."""
    instance_id: str | None = None
    """The instance id of a static member; unique in the group."""


class GroupSpec(NamedTuple):
    """A group as the input of an assignor."""

    members: Mapping[str, MemberSpec]
    """By member id, in the order of `input_order.timeline_order`; a member that joins with this heartbeat is last."""
    partitions: Mapping[bytes, int]
    """How many partitions each topic has, at least one, by topic id."""
    subscription_type: SubscriptionType


class AssignorError(Exception):
    """No assignment can be made: a member subscribes to a topic id that `GroupSpec.partitions` does not have."""


def work_of(assignment: Assignment) -> int:
    """Return with how many members of few partitions this one is counted (`MEMBERS_AT_ONCE`)."""
    return 1 + sum(map(len, assignment.values())) // _PARTITIONS_OF_A_MEMBER


def partitions_of(spec: GroupSpec, topic_id: bytes) -> int:
    """Return how many partitions a subscribed topic has. Raises AssignorError if unknown."""
    count = spec.partitions.get(topic_id)
    if count is None:
        raise AssignorError(f"a member subscribes to {topic_id.hex()}, and there is no topic with this id")
    return count
