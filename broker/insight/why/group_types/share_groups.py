"""Facts about a share group (KIP-932), member by member.

A share group does not rebalance: a member gets its partitions with a heartbeat, whatever the others do. So the group
waits for no member; only partitions whose state does not exist yet are not assigned.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.broker.coordinator.group.decisions.share.leaving import share_session_timer
from barnabas.broker.insight.inspection.topics import topic_name
from barnabas.broker.insight.why.rules.formatting import named
from barnabas.broker.insight.why.rules.group import GroupFacts, MemberFacts, Stands
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.coordinator.group.decisions.share.group import ShareGroup
    from barnabas.broker.insight.inspection.groups import FoundGroup
    from barnabas.broker.services import Services

_MEMBERS_A_STEP = 50
_PARTITIONS_MAX = 20


def share_group_facts(
    services: Services, facts: GroupFacts, found: FoundGroup, group: ShareGroup
) -> Steps[tuple[GroupFacts, list[MemberFacts]]]:
    """Return, in steps, the facts of a share group, and of each of its members."""
    members = []
    for number, member in enumerate(list(group.members.values())):
        members.append(
            MemberFacts(
                member.member_id,
                Stands.BEHIND if member.member_epoch < group.assignment_epoch else Stands.DONE,
                client_id=member.client_id,
                client_host=member.client_host,
                member_epoch=member.member_epoch,
                session_left_ms=found.time_left_ms(share_session_timer(member.member_id)),
            )
        )
        if number % _MEMBERS_A_STEP == _MEMBERS_A_STEP - 1:
            yield
    facts = facts._replace(
        protocol="share",
        state=group.state.value,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        members_count=len(group.members),
        without_state=tuple(sorted(_without_state(services, group))[:_PARTITIONS_MAX]),
    )
    return facts, members


def _without_state(services: Services, group: ShareGroup) -> Iterator[str]:
    """Yield the subscribed partitions that have no state yet, so that no member gets them."""
    initialized = group.states.initialized_partitions
    for name in group.subscribed_topics():
        topic = services.catalogue.topics.get(name)
        if topic is not None:
            there = initialized.get(topic.topic_id, frozenset())
            yield from (f"{named(name)}-{each}" for each in range(len(topic.partitions)) if each not in there)


def assigned_partitions(services: Services, group: ShareGroup) -> Steps[dict[tuple[str, int], list[str]]]:
    """Return, in steps, the members that each assigned partition has."""
    found: dict[tuple[str, int], list[str]] = {}
    for number, member in enumerate(list(group.members.values())):
        for topic_id, partitions in member.assigned.items():
            name = topic_name(services, topic_id)
            for each in partitions if name is not None else ():
                found.setdefault((name or "", each), []).append(member.member_id)
        if number % _MEMBERS_A_STEP == _MEMBERS_A_STEP - 1:
            yield
    return found
