"""Facts about a streams group (KIP-1071): what its topology lacks, and member by member which tasks it has to give up.

The topology is compared with the topics at a heartbeat, and the result is not stored: after a start nothing is known
of it until a member sends one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from barnabas.broker.coordinator.group.decisions.streams.model import StreamsMemberState
from barnabas.broker.coordinator.group.decisions.streams.tasks import Tasks, active_of
from barnabas.broker.coordinator.group.decisions.streams.timers import INITIAL_REBALANCE, rebalance_timer, session_timer
from barnabas.broker.insight.why.rules.formatting import named
from barnabas.broker.insight.why.rules.group import GroupFacts, MemberFacts, Stands
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.coordinator.group.decisions.streams.group import StreamsGroup
    from barnabas.broker.coordinator.group.decisions.streams.model import StreamsGroupMember
    from barnabas.broker.insight.inspection.groups import FoundGroup
    from barnabas.broker.services import Services

_MEMBERS_A_STEP = 50
_TASKS_MAX = 20
_Task = tuple[str, int]


def streams_group_facts(
    facts: GroupFacts, found: FoundGroup, group: StreamsGroup
) -> Steps[tuple[GroupFacts, list[MemberFacts]]]:
    """Return, in steps, the facts of a streams group, and of each of its members."""
    configured = group.volatile.configured
    problem = None if configured is None or configured.problem is None else configured.problem.detail
    facts = facts._replace(
        protocol="streams",
        state=group.state.value,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        members_count=len(group.members),
        unfit=problem,
        is_initial_delay=group.volatile.is_delayed,
        rebalance_left_ms=found.time_left_ms(INITIAL_REBALANCE) if group.volatile.is_delayed else None,
    )
    owners: dict[_Task, str] = {}
    for number, member in enumerate(list(group.members.values())):
        for owned in (member.assigned, member.pending_revocation):
            owners |= {(each, task): member.member_id for each, tasks in active_of(owned).items() for task in tasks}
        if number % _MEMBERS_A_STEP == _MEMBERS_A_STEP - 1:
            yield
    members = []
    for number, member in enumerate(list(group.members.values())):
        members.append(_member(found, group, member, owners))
        if number % _MEMBERS_A_STEP == _MEMBERS_A_STEP - 1:
            yield
    return facts, members


def _member(
    found: FoundGroup, group: StreamsGroup, member: StreamsGroupMember, owners: Mapping[_Task, str]
) -> MemberFacts:
    facts = MemberFacts(
        member.member_id,
        Stands.DONE,
        client_id=member.client_id,
        client_host=member.client_host,
        instance_id=member.instance_id,
        member_epoch=member.member_epoch,
        session_left_ms=found.time_left_ms(session_timer(member.member_id)),
        deadline_left_ms=found.time_left_ms(rebalance_timer(member.member_id)),
    )
    if member.state is StreamsMemberState.UNREVOKED_TASKS:
        given_up = member.pending_revocation
        tasks = [*_each(active_of(given_up)), *_each(given_up.standby), *_each(given_up.warmup)]
        return facts._replace(stands=Stands.TASKS_NOT_GIVEN_UP, partitions=_names(tasks))
    if member.state is StreamsMemberState.UNRELEASED_TASKS:
        mine = set(_each(active_of(member.assigned)))
        wanted = [task for task in _each(group.target_of(member).active) if task not in mine]
        missing = [task for task in wanted if owners.get(task, member.member_id) != member.member_id]
        of_members = tuple(sorted({owners[task] for task in missing}))[:_TASKS_MAX]
        stands = Stands.WAITS_FOR_TASKS if missing else Stands.BEHIND
        return facts._replace(stands=stands, partitions=_names(missing), of_members=of_members)
    return facts if member.member_epoch >= group.assignment_epoch else facts._replace(stands=Stands.BEHIND)


def _each(tasks: Tasks) -> list[_Task]:
    return [(subtopology_id, number) for subtopology_id, numbers in tasks.items() for number in numbers]


def _names(tasks: list[_Task]) -> tuple[str, ...]:
    """Format tasks as Kafka Streams does: 0_1 is the task of partition 1 in subtopology 0."""
    return tuple(f"{named(subtopology_id)}_{number}" for subtopology_id, number in sorted(tasks)[:_TASKS_MAX])


def tasks_partitions(services: Services, group: StreamsGroup) -> Steps[dict[tuple[str, int], str]]:
    """Return, in steps, the member that reads each partition of the source topics, by its active tasks."""
    sources: dict[str, list[str]] = {}
    for name, subtopology_id in () if group.topology is None else group.topology.by_source_topic.items():
        sources.setdefault(subtopology_id, []).append(name)
    found: dict[tuple[str, int], str] = {}
    for number, member in enumerate(list(group.members.values())):
        for subtopology_id, partition in _each(active_of(member.assigned)):
            for name in sources.get(subtopology_id, ()):
                topic = services.catalogue.topics.get(name)
                if topic is not None and partition < len(topic.partitions):
                    found[name, partition] = member.member_id
        if number % _MEMBERS_A_STEP == _MEMBERS_A_STEP - 1:
            yield
    return found
