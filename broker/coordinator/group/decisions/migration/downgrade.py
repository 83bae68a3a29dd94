"""The downgrade of a consumer group to a classic group, because the last member of the consumer protocol left.

The member leaves, or its session ends, or it is a static one that is replaced by a member of the classic protocol. The
generation of the classic group is the epoch of the consumer group, and each member's assignment is its target. If some
partitions have to be reassigned, the new group begins with a rebalance. A downgrade is decided in steps, several for
each member: the group must not change in between.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from barnabas.broker.coordinator.group.decisions.classic import model as classic
from barnabas.broker.coordinator.group.decisions.classic.draft import ClassicDraft
from barnabas.broker.coordinator.group.decisions.classic.rebalance import prepare_rebalance, vote
from barnabas.broker.coordinator.group.decisions.classic.states import ClassicGroupEvent, ClassicGroupState
from barnabas.broker.coordinator.group.decisions.consumer import leaving, records
from barnabas.broker.coordinator.group.decisions.consumer.assignors.model import NOTHING
from barnabas.broker.coordinator.group.decisions.consumer.group import CONSUMER_PROTOCOL, ConsumerGroup, is_classic
from barnabas.broker.coordinator.group.decisions.consumer.model import (
    ConsumerConfig,
    ConsumerContext,
    ConsumerGroupMember,
    Topics,
)
from barnabas.broker.coordinator.group.decisions.consumer.timers import all_cancelled_timers
from barnabas.broker.coordinator.group.decisions.group_types import AnyOutcome, AnyRecord
from barnabas.broker.coordinator.group.decisions.migration.embedded import assignment_bytes


def members_gone(
    group: ConsumerGroup,
    members: Sequence[ConsumerGroupMember],
    *,
    context: ConsumerContext,
    config: classic.GroupConfig,
    now_ms: int,
) -> Generator[None, None, AnyOutcome]:
    """Decide that some members left, and that the group is downgraded if only classic members stay."""
    staying = len(group.members) - len(members)
    classic_staying = group.classic_count - sum(map(is_classic, members))
    has_room = staying <= config.max_size
    if staying > 0 and staying == classic_staying and has_room and _may_downgrade(group, context):
        return (
            yield from _downgraded(
                group, members, None, is_balanced=False, topics=context.topics, config=config, now_ms=now_ms
            )
        )
    return leaving.gone(group, members, topics=context.topics)


def is_last_replaced(
    group: ConsumerGroup, holder: ConsumerGroupMember, *, config: ConsumerConfig, max_size: int
) -> bool:
    """Return whether only classic members will be left when one replaces this static member."""
    others = len(group.members) - 1
    is_last = holder.classic is None and group.classic_count == others
    return is_last and config.migration_policy.may_downgrade and len(group.members) <= max_size


def replaced(
    group: ConsumerGroup,
    holder: ConsumerGroupMember,
    joined: ConsumerGroupMember,
    *,
    is_balanced: bool,
    topics: Topics,
    config: classic.GroupConfig,
    now_ms: int,
) -> Generator[None, None, AnyOutcome]:
    """Decide that a member of the classic protocol replaces the last one of the consumer protocol."""
    return (
        yield from _downgraded(
            group, [holder], joined, is_balanced=is_balanced, topics=topics, config=config, now_ms=now_ms
        )
    )


def _may_downgrade(group: ConsumerGroup, context: ConsumerContext) -> bool:
    return context.config_of(group.group_id).migration_policy.may_downgrade


def _downgraded(
    group: ConsumerGroup,
    leaving: Sequence[ConsumerGroupMember],
    joined: ConsumerGroupMember | None,
    *,
    is_balanced: bool,
    topics: Topics,
    config: classic.GroupConfig,
    now_ms: int,
) -> Generator[None, None, AnyOutcome]:
    members = yield from group.members_in_order()
    draft = ClassicDraft((yield from _as_classic(group, members, leaving, joined, topics, now_ms)), now_ms)
    yield
    draft.store_group()
    yield
    draft.effects += all_cancelled_timers()
    for member_id in draft.group.members:
        draft.start_session(member_id)
    if not is_balanced:
        prepare_rebalance(draft, ClassicGroupEvent.MEMBER_REMOVED, config)
    names = {leaving[0].member_id: joined.member_id} if joined is not None else {}
    ids = [names.get(each.member_id, each.member_id) for each in members]
    gone: list[AnyRecord] = []
    for tombstone in records.everything_gone(group.group_id, ids, group.regexes):
        gone.append(tombstone)
        yield
    outcome: AnyOutcome = draft.outcome()
    return outcome._replace(records=(*gone, *outcome.records))


def _as_classic(
    group: ConsumerGroup,
    members: Sequence[ConsumerGroupMember],
    leaving: Sequence[ConsumerGroupMember],
    joined: ConsumerGroupMember | None,
    topics: Topics,
    now_ms: int,
) -> Generator[None, None, classic.Group]:
    """Return the members, without those that leave, as a classic group with all its assignments."""
    gone = {member.member_id for member in leaving}
    targets = {each.member_id: group.targets.get(each.member_id, NOTHING) for each in members}
    staying = [each for each in members if each.member_id not in gone]
    if joined is not None:
        staying.append(joined)
        targets[joined.member_id] = targets[leaving[0].member_id]
    draft = ClassicDraft(
        classic.Group(
            group.group_id,
            state=ClassicGroupState.STABLE,
            state_timestamp_ms=now_ms,
            generation_id=group.group_epoch,
            protocol_type=CONSUMER_PROTOCOL,
        ),
        now_ms,
    )
    for member in staying:
        draft.add_member(_member(member))
        yield
    made = draft.group
    made.newcomers.clear()
    made.joined.clear()
    made.protocol_name = vote(made)
    for member_id, each in list(made.members.items()):
        assignment = assignment_bytes(targets[member_id], each.metadata(made.protocol_name), topics)
        made.members[member_id] = each._replace(assignment=assignment)
        yield
    return made


def _member(member: ConsumerGroupMember) -> classic.ClassicGroupMember:
    assert member.classic is not None, "a classic group has no members of the consumer protocol"
    return classic.ClassicGroupMember(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.rebalance_timeout_ms,
        member.classic.session_timeout_ms,
        member.classic.protocols,
    )
