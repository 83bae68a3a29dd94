"""Facts about a group, member by member: classic and consumer groups here, the others in `group_types/`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from barnabas.broker.coordinator.group.decisions.classic.draft import JOIN_TIMER, SYNC_TIMER, session_timer
from barnabas.broker.coordinator.group.decisions.classic.model import Group
from barnabas.broker.coordinator.group.decisions.classic.states import ClassicGroupState
from barnabas.broker.coordinator.group.decisions.consumer.group import ConsumerGroup
from barnabas.broker.coordinator.group.decisions.consumer.model import ConsumerGroupMember as ConsumerMember
from barnabas.broker.coordinator.group.decisions.consumer.model import MemberState
from barnabas.broker.coordinator.group.decisions.consumer.timers import join_timer, rebalance_timer, sync_timer
from barnabas.broker.coordinator.group.decisions.consumer.timers import session_timer as consumer_session_timer
from barnabas.broker.coordinator.group.decisions.share.group import ShareGroup
from barnabas.broker.coordinator.group.decisions.streams.group import StreamsGroup
from barnabas.broker.insight.inspection.groups import every_loaded_group, find_group
from barnabas.broker.insight.why.group_types.share_groups import share_group_facts
from barnabas.broker.insight.why.group_types.streams_groups import streams_group_facts
from barnabas.broker.insight.why.held_requests import held_requests
from barnabas.broker.insight.why.reading import held_back
from barnabas.broker.insight.why.rules.formatting import named
from barnabas.broker.insight.why.rules.group import HOLDS_UP, GroupFacts, MemberFacts, Stands
from barnabas.broker.insight.why.sources.refused_clients import Client, of_group, refused_clients
from barnabas.broker.insight.why.sources.why_sources import WhySources
from barnabas.client.near_names import nearest
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.insight.inspection.groups import FoundGroup
    from barnabas.broker.services import Services

MEMBERS_MAX = 100
"""Maximum number of members reported; those that hold the group up come first."""
_PARTITIONS_MAX = 20
"""Maximum number of partitions named per member."""
_MEMBERS_A_STEP = 50


def group_facts(known: WhySources, group_id: str) -> Steps[tuple[GroupFacts, FoundGroup | None]]:
    """Return the facts of a group, member by member, and the group as found."""
    facts, found = yield from _group_facts(known, group_id)
    clients = yield from clients_of(found)
    return facts._replace(kept_out=refused_clients(known.services, of_group(group_id, clients))), found


def waiting_facts(known: WhySources, group_id: str) -> Steps[GroupFacts]:
    """Collect the facts for `why group`, including the partitions that transactions hold back."""
    facts, found = yield from group_facts(known, group_id)
    if found is None:
        return facts
    committed = {
        (topic, number): each.offset for topic, of in found.offsets.items() for number, each in list(of.items())
    }
    held = yield from held_back(known.services, found.group, committed)
    return facts._replace(held_back=tuple(sorted(f"{named(each.where[0])}-{each.where[1]}" for each in held)))


def clients_of(found: FoundGroup | None) -> Steps[set[Client]]:
    """Return the clients of a group's members."""
    clients: set[Client] = set()
    group = None if found is None else found.group
    members = () if group is None else [(each.client_id, each.client_host) for each in group.members.values()]
    for number, (client_id, host) in enumerate(members):
        clients.add((client_id, host.lstrip("/")))
        if number % _MEMBERS_A_STEP == _MEMBERS_A_STEP - 1:
            yield
    return clients


def _group_facts(known: WhySources, group_id: str) -> Steps[tuple[GroupFacts, FoundGroup | None]]:
    services = known.services
    facts = GroupFacts(group_id, held=(yield from held_requests(known, lambda held: group_id in held.groups)))
    try:
        found = find_group(services, group_id)
    except KafkaError as error:
        return facts._replace(unavailable=_why_unavailable(error)), None
    if found is None or not found.exists:
        near = nearest(group_id, (each.group_id for each in every_loaded_group(services)))
        return facts._replace(exists=False, near=near[0] if near else None), None
    if isinstance(found.group, ConsumerGroup):
        return (yield from _consumer(services, facts, found, found.group)), found
    if isinstance(found.group, ShareGroup):
        return _with_members(*(yield from share_group_facts(services, facts, found, found.group))), found
    if isinstance(found.group, StreamsGroup):
        return _with_members(*(yield from streams_group_facts(facts, found, found.group))), found
    if not isinstance(found.group, Group):
        return facts, found
    return (yield from _classic(services, facts, found, found.group)), found


def _why_unavailable(error: KafkaError) -> str:
    if error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        return "it is loading the partition of __consumer_offsets that the group is in; ask again"
    return error.message or error.code.name


def _with_members(facts: GroupFacts, members: Iterable[MemberFacts]) -> GroupFacts:
    late = sorted(members, key=lambda each: each.stands not in HOLDS_UP)
    holding_up = sum(each.stands in HOLDS_UP for each in late)
    return facts._replace(members=tuple(late[:MEMBERS_MAX]), holding_up_count=holding_up)


# --- classic groups --------------------------------------------------------------------------------------------------


def _classic(services: Services, facts: GroupFacts, found: FoundGroup, group: Group) -> Steps[GroupFacts]:
    since_ms = services.clock.now_ms() - group.state_timestamp_ms if group.state_timestamp_ms >= 0 else None
    is_joining = group.state is ClassicGroupState.PREPARING_REBALANCE
    left_ms = found.time_left_ms(JOIN_TIMER if is_joining else SYNC_TIMER)
    facts = facts._replace(
        state=group.state.value,
        generation_id=group.generation_id,
        members_count=len(group.members),
        state_since_ms=since_ms,
        rebalance_left_ms=left_ms,
        is_initial_delay=is_joining and group.initial_delay_left_ms is not None,
    )
    found_members = []
    for number, member in enumerate(list(group.members.values())):
        found_members.append(
            MemberFacts(
                member.member_id,
                _stands(group, member.member_id),
                client_id=member.client_id,
                client_host=member.client_host,
                instance_id=member.group_instance_id,
                session_left_ms=found.time_left_ms(session_timer(member.member_id)),
                deadline_left_ms=left_ms if member.group_instance_id is None or not is_joining else None,
            )
        )
        if number % _MEMBERS_A_STEP == _MEMBERS_A_STEP - 1:
            yield
    found_members += [
        MemberFacts(each, Stands.PENDING, session_left_ms=found.time_left_ms(session_timer(each)))
        for each in (list(group.pending) if is_joining else ())
    ]
    return _with_members(facts, found_members)


def _stands(group: Group, member_id: str) -> Stands:
    if group.state is ClassicGroupState.PREPARING_REBALANCE:
        return Stands.JOINED if member_id in group.joined else Stands.NOT_JOINED
    if group.state is ClassicGroupState.COMPLETING_REBALANCE:
        if member_id == group.leader_id:
            return Stands.NOT_ASSIGNING
        return Stands.WAITS_FOR_ASSIGNMENT if member_id in group.parked_syncs else Stands.NOT_SYNCED
    return Stands.NOT_SYNCED if member_id in group.unsynced else Stands.DONE


# --- consumer groups -------------------------------------------------------------------------------------------------


def _consumer(services: Services, facts: GroupFacts, found: FoundGroup, group: ConsumerGroup) -> Steps[GroupFacts]:
    facts = facts._replace(
        protocol="consumer",
        state=group.state.value,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        members_count=len(group.members),
    )
    owners: dict[tuple[bytes, int], str] = {}
    for number, member in enumerate(list(group.members.values())):
        for owned in (member.assigned, member.pending_revocation):
            owners.update({(topic_id, each): member.member_id for topic_id, of in owned.items() for each in of})
        if number % _MEMBERS_A_STEP == _MEMBERS_A_STEP - 1:
            yield
    found_members = []
    for number, member in enumerate(list(group.members.values())):
        found_members.append(_member(services, found, group, member, owners))
        if number % _MEMBERS_A_STEP == _MEMBERS_A_STEP - 1:
            yield
    return _with_members(facts, found_members)


def _member(
    services: Services,
    found: FoundGroup,
    group: ConsumerGroup,
    member: ConsumerMember,
    owners: Mapping[tuple[bytes, int], str],
) -> MemberFacts:
    member_id = member.member_id
    timers = rebalance_timer(member_id), join_timer(member_id), sync_timer(member_id)
    lefts = [left for timer in timers if (left := found.time_left_ms(timer)) is not None]
    facts = MemberFacts(
        member_id,
        Stands.DONE,
        client_id=member.client_id,
        client_host=member.client_host,
        instance_id=member.instance_id,
        member_epoch=member.member_epoch,
        speaks_classic=True if member.classic is not None else None,
        session_left_ms=found.time_left_ms(consumer_session_timer(member_id)),
        deadline_left_ms=min(lefts, default=None),
    )
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        to_revoke = [(topic_id, each) for topic_id, of in member.pending_revocation.items() for each in of]
        return facts._replace(stands=Stands.NOT_REVOKED, partitions=_names(services, to_revoke))
    if member.state is MemberState.UNRELEASED_PARTITIONS:
        missing = [
            (topic_id, each)
            for topic_id, of in group.target_of(member).items()
            for each in of
            if each not in member.assigned.get(topic_id, ()) and owners.get((topic_id, each), member_id) != member_id
        ]
        of_members = tuple(sorted({owners[each] for each in missing}))[:_PARTITIONS_MAX]
        stands = Stands.WAITS_FOR_OTHERS if missing else Stands.BEHIND
        return facts._replace(stands=stands, partitions=_names(services, missing), of_members=of_members)
    if member.member_epoch < group.assignment_epoch:
        return facts._replace(stands=Stands.BEHIND)
    return facts


def _names(services: Services, partitions: Iterable[tuple[bytes, int]]) -> tuple[str, ...]:
    """Format the partitions for people."""
    topics = services.catalogue.topics_by_id
    found_members = []
    for topic_id, number in partitions:
        topic = topics.get(topic_id)
        found_members.append(f"{named(topic.name)}-{number}" if topic is not None else f"a deleted topic's {number}")
        if len(found_members) == _PARTITIONS_MAX:
            break
    return tuple(sorted(found_members))
