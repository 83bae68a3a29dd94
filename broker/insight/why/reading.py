"""The partitions a group reads, as far as its members report them, and the records that a transaction hides from it.

A group without commits reads the partitions assigned to its members. Nothing here opens a log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.coordinator.group.decisions.classic.model import Group
from barnabas.broker.coordinator.group.decisions.classic.subscription import subscribed_topics
from barnabas.broker.coordinator.group.decisions.consumer.group import ConsumerGroup
from barnabas.broker.coordinator.group.decisions.share.group import ShareGroup
from barnabas.broker.coordinator.group.decisions.streams.group import StreamsGroup
from barnabas.broker.insight.inspection.topics import topic_name
from barnabas.broker.insight.why.group_types.streams_groups import tasks_partitions
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.log_records.consumer_protocol import decode_assignment
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.coordinator.group.decisions.group_types import AnyGroup
    from barnabas.broker.services import Services

ASSIGNMENT_BYTES_MAX = 64 << 10
"""A classic member's assignment is not read if it is longer."""
PARTITIONS_MAX = 100
"""Maximum number of a group's committed partitions, and of its assigned ones, checked for transactions."""
_A_STEP = 50

Where = tuple[str, int]


class GroupTopics(NamedTuple):
    """The topics and partitions of a group."""

    subscribed: frozenset[str] | None
    """None if not known."""
    assigned: dict[Where, str]
    """Partition -> member id."""
    is_whole: bool = True
    """Whether all assigned partitions are included."""


class HeldBack(NamedTuple):
    """A partition in which a transaction hides records behind the group's position from read_committed consumers."""

    where: Where
    producer_id: int


def reading(services: Services, group: AnyGroup | None) -> Steps[GroupTopics]:
    """Return, in steps, the assignment and the subscription of a group's members."""
    assigned: dict[Where, str] = {}
    if isinstance(group, ConsumerGroup):
        subscribed = frozenset(group.subscribed_topics())
        for number, member in enumerate(list(group.members.values())):
            for topic_id, numbers in member.assigned.items():
                name = topic_name(services, topic_id)
                if name is not None:
                    assigned |= {(name, each): member.member_id for each in numbers}
            if number % _A_STEP == _A_STEP - 1:
                yield
        return GroupTopics(subscribed, assigned)
    if isinstance(group, StreamsGroup):
        assigned = yield from tasks_partitions(services, group)
        return GroupTopics(frozenset(group.subscribed_topics()), assigned)
    if isinstance(group, ShareGroup):  # its members share partitions: they are examined in group_types/
        return GroupTopics(frozenset(group.subscribed_topics()), assigned)
    if not isinstance(group, Group):
        return GroupTopics(None, assigned)
    known = subscribed_topics(group) if group.members else None
    is_whole = True
    for number, classic in enumerate(list(group.members.values())):
        if len(classic.assignment) <= ASSIGNMENT_BYTES_MAX:
            assigned |= dict.fromkeys(_assigned(classic.assignment), classic.member_id)
        else:
            is_whole = False
        if number % _A_STEP == _A_STEP - 1:
            yield
    return GroupTopics(known, assigned, is_whole)


def _assigned(assignment: bytes) -> list[Where]:
    """Return a classic member's assigned partitions; none if it is not a consumer assignment."""
    try:
        found = decode_assignment(assignment).assigned_partitions if assignment else []
    except DecodeError:
        return []
    return [(each.topic, number) for each in found for number in each.partitions]


def held_back(services: Services, group: AnyGroup | None, committed: Mapping[Where, int]) -> Steps[list[HeldBack]]:
    """Return where transactions hold a group's readers back, of its first committed or assigned partitions."""
    assigned = (yield from reading(services, group)).assigned
    return list(_held_back(services, committed, assigned))


def _held_back(services: Services, committed: Mapping[Where, int], assigned: Mapping[Where, str]) -> Iterator[HeldBack]:
    alone = (each for each in assigned if each not in committed)
    for where in (*islice(committed, PARTITIONS_MAX), *islice(alone, PARTITIONS_MAX)):
        if not services.partitions.is_open(*where):
            continue
        log = services.partitions.get(*where)
        undecided = log.first_undecided
        if undecided is not None and max(log.last_stable_offset, committed.get(where, 0)) < log.high_watermark:
            yield HeldBack(where, undecided[1])
