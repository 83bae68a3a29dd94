# compiled: mypyc
"""The decisions about ConsumerGroupHeartbeat: joining, staying, and static members with a new id (KIP-848).

One heartbeat does, in this order: the member is stored if it changed; the group epoch rises if the subscribed topics
changed; a new target is computed if the epoch rose; the member takes its next step towards its target. All of it is one
batch of records, and the reply has the member's partitions.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from typing import Final, NamedTuple

from barnabas.broker.coordinator.group.decisions.consumer import records, regexes
from barnabas.broker.coordinator.group.decisions.consumer.assignors.model import SubscriptionType
from barnabas.broker.coordinator.group.decisions.consumer.checks import check_epoch
from barnabas.broker.coordinator.group.decisions.consumer.group import ConsumerGroup, assignor_of, counted, preferred
from barnabas.broker.coordinator.group.decisions.consumer.model import (
    ConsumerConfig,
    ConsumerGroupMember,
    HeartbeatReply,
    HeartbeatRequest,
    MemberState,
    Topics,
)
from barnabas.broker.coordinator.group.decisions.consumer.reconciliation import Circumstances, reconcile
from barnabas.broker.coordinator.group.decisions.consumer.regexes import ConsumerOutcome, Status
from barnabas.broker.coordinator.group.decisions.consumer.subscriptions import (
    Subscriptions,
    metadata_hash,
    topic_ids_of,
)
from barnabas.broker.coordinator.group.decisions.consumer.targets import Target, last_target, may_compute, new_target
from barnabas.broker.coordinator.group.decisions.consumer.timers import cancelled_timers, rebalance_timer, session_timer
from barnabas.broker.coordinator.group.decisions.modern.group import MetadataSeen
from barnabas.broker.coordinator.group.decisions.modern.members import (
    JOINING_EPOCH,
    check_group_size,
    check_released,
    known_member,
    known_static_member,
)
from barnabas.broker.coordinator.group.decisions.modern.records import KeyedRecord, encoded
from barnabas.broker.coordinator.runtime.outcome import CancelTimer, Effect, Outcome, ResolveTopics, SetTimer
from barnabas.broker.coordinator.runtime.partition_for import utf16
from barnabas.storage.steps import AT_ONCE, Steps, mapped

_new_tuple: Final = tuple.__new__  # half the cost of a NamedTuple's constructor


class HeartbeatStep(NamedTuple):
    """A member's new state, with its records and effects."""

    member: ConsumerGroupMember
    records: tuple[KeyedRecord, ...]
    effects: tuple[Effect, ...]
    seen: MetadataSeen | None
    is_target_old: bool
    """Whether the group's target, before the step, was older than its epoch is now."""


class _Epoch(NamedTuple):
    """The next group epoch."""

    number: int
    kind: SubscriptionType | None = None
    """None: the type of the members' current subscriptions."""
    records: tuple[KeyedRecord, ...] = ()
    seen: MetadataSeen | None = None


def heartbeat(
    group: ConsumerGroup,
    request: HeartbeatRequest,
    *,
    topics: Topics,
    now_ms: int,
    config: ConsumerConfig,
    fresh_member_id: str,
) -> Generator[None, None, ConsumerOutcome]:
    """Decide a heartbeat of a member that does not leave; the reply is a HeartbeatReply. Raises KafkaError.

    Runs in steps if a target is computed: the group must not change in between, topics may.
    """
    takes_place = group.static_member(request.instance_id) is not None
    check_group_size(group, request.member_id, config.max_size, takes_place=takes_place)
    before, replaced = _member(group, request, request.member_id or fresh_member_id)
    step = yield from take_step(group, before, replaced, request, topics=topics, now_ms=now_ms, config=config)
    member = step.member
    is_sent = request.member_epoch == JOINING_EPOCH or request.is_full or before.assigned != member.assigned
    fields = member.member_id, member.member_epoch, config.heartbeat_interval_ms, member.assigned if is_sent else None
    reply = _new_tuple(HeartbeatReply, fields)
    return _new_tuple(Outcome, (step.records, None, step.seen, reply, step.effects, None, None))


def take_step(
    group: ConsumerGroup,
    before: ConsumerGroupMember,
    replaced: ConsumerGroupMember | None,
    request: HeartbeatRequest,
    *,
    topics: Topics,
    now_ms: int,
    config: ConsumerConfig,
    is_for_good: bool = True,
) -> Generator[None, None, HeartbeatStep]:
    """Return the next step of a member, `before`, which replaces `replaced` if that is given. KafkaError.

    Runs in steps, like `heartbeat`.
    Without `is_for_good` there will be no consumer group after it: no target is computed, and an old one is not
    followed.
    """
    written: list[KeyedRecord] = []
    effects: list[Effect] = []
    if replaced is not None:
        written += _replacement(group, replaced, before)
        effects += cancelled_timers(replaced.member_id)
    elif before.classic is not None and request.classic is None:
        effects += cancelled_timers(before.member_id)
    are_many = request.topic_names is not None and len(request.topic_names) > AT_ONCE
    if are_many:
        yield from _known_hashes(request.topic_names or (), topics)
    member = _updated(before, request)
    if are_many:
        yield
    if member is not before and member != before:
        written.append(records.member_stored(group.group_id, member))
    regex = regexes.update(
        group,
        before,
        member,
        topics=topics,
        now_ms=now_ms,
        refresh_interval_ms=config.regex_refresh_interval_ms,
    )
    written += regex.records
    epoch = _epoch(group, before, member, regex.status, topics, config)
    written += epoch.records
    is_target_old = group.assignment_epoch < epoch.number
    if is_for_good or not is_target_old:
        target = yield from _target(group, before, member, epoch, topics, now_ms, config)
        written += target.records
        has_subscription_changed = _has_names_changed(before, member) or regex.status is not Status.UNCHANGED
        reconciled = yield from _reconciled(group, member, target, request, has_subscription_changed, topics)
        if reconciled != member:
            written.append((yield from _current_stored(group.group_id, reconciled)))
            effects += _revocation_effects(reconciled)
        member = reconciled
    fields = session_timer(member.member_id), config.session_timeout_of(member), False
    effects.append(_new_tuple(SetTimer, fields))
    if regex.to_resolve:
        effects.append(ResolveTopics(regex.to_resolve, request.may_describe))
    return _new_tuple(HeartbeatStep, (member, tuple(written), tuple(effects), epoch.seen, is_target_old))


def _known_hashes(names: Collection[str], topics: Topics) -> Steps[None]:
    """Compute and cache the hashes of very many topics in steps, before all are used at once."""
    yield from mapped(lambda name: topics.hash(name) if name in topics.ids else 0, names)
    yield


def _current_stored(group_id: str, member: ConsumerGroupMember) -> Steps[KeyedRecord]:
    """Return the record of the member's partitions; for very many topics already encoded, as for targets."""
    if len(member.assigned) <= AT_ONCE:
        return records.current_stored(group_id, member)
    yield
    stored = records.current_stored(group_id, member)
    yield
    return encoded(stored)


# The member


def _member(
    group: ConsumerGroup, request: HeartbeatRequest, member_id: str
) -> tuple[ConsumerGroupMember, ConsumerGroupMember | None]:
    """Return the member's previous state, and the member that it replaces, if any."""
    is_joining = request.member_epoch == JOINING_EPOCH
    if request.instance_id is None:
        member = ConsumerGroupMember(member_id) if is_joining else known_member(group, member_id)
        member = group.members.get(member_id, member)
        check_epoch(member, request.member_epoch, request.owned)
        return member, None
    if not is_joining:
        member = known_static_member(group, member_id, request.instance_id)
        check_epoch(member, request.member_epoch, request.owned)
        return member, None
    holder = group.static_member(request.instance_id)
    if holder is None:
        return group.members.get(member_id, ConsumerGroupMember(member_id)), None
    if holder.classic is None:
        check_released(holder, member_id)
    return replacement(holder, member_id), holder


def replacement(member: ConsumerGroupMember, member_id: str) -> ConsumerGroupMember:
    """Return a static member with its new id and all its former state."""
    return member._replace(member_id=member_id, member_epoch=0, previous_member_epoch=0)


def _replacement(group: ConsumerGroup, old: ConsumerGroupMember, new: ConsumerGroupMember) -> list[KeyedRecord]:
    """Return the records that replace a static member by one with a new id and all its former state."""
    group_id = group.group_id
    return [
        records.current_gone(group_id, old.member_id),
        records.target_gone(group_id, old.member_id),
        records.member_gone(group_id, old.member_id),
        records.member_stored(group_id, new),
        records.target_stored(group_id, new.member_id, group.target_of(old)),
        records.current_stored(group_id, new),
    ]


def _updated(member: ConsumerGroupMember, request: HeartbeatRequest) -> ConsumerGroupMember:
    """Return the member with the fields of the request; the same one if it has none of them, as most requests."""
    if _has_nothing_new(member, request):
        return member
    names = request.topic_names
    rebalance_timeout_ms = request.rebalance_timeout_ms
    return member._replace(
        instance_id=member.instance_id if request.instance_id is None else request.instance_id,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if rebalance_timeout_ms == -1 else rebalance_timeout_ms,
        assignor=member.assignor if request.assignor is None else request.assignor,
        topic_names=member.topic_names if names is None else tuple(sorted(set(names), key=utf16)),
        topic_regex=member.topic_regex if request.topic_regex is None else request.topic_regex,
        client_id=request.client_id,
        client_host=request.client_host,
        classic=request.classic,
    )


def _has_nothing_new(member: ConsumerGroupMember, request: HeartbeatRequest) -> bool:
    return (
        request.topic_names is None
        and request.topic_regex is None
        and request.instance_id in (None, member.instance_id)
        and request.rack_id is None
        and request.assignor is None
        and request.rebalance_timeout_ms == -1
        and request.classic is None
        and member.classic is None
        and request.client_id == member.client_id
        and request.client_host == member.client_host
    )


def _has_names_changed(before: ConsumerGroupMember, member: ConsumerGroupMember) -> bool:
    return member is not before and set(before.topic_names) != set(member.topic_names)


# The group's epoch and its target


def _epoch(
    group: ConsumerGroup,
    before: ConsumerGroupMember,
    member: ConsumerGroupMember,
    regex: Status,
    topics: Topics,
    config: ConsumerConfig,
) -> _Epoch:
    """Return the next group epoch: one higher if the subscribed topics, or the assignor, change."""
    is_as_before = member is before and group.members.get(member.member_id) is member
    is_bumped = not is_as_before and (
        _has_names_changed(before, member)
        or regex is Status.UPDATED_AND_RESOLVED
        or (group.preferred_assignor() or config.assignors[0]) != _assignor(group, before, member, config)
    )
    if not is_bumped and not _is_metadata_stale(group, topics):
        return _new_tuple(_Epoch, (group.group_epoch, None, (), None))
    subscriptions = Subscriptions(group, [before], [member])
    fresh_hash = metadata_hash(subscriptions.topics(), topics)
    is_newcomer = member.member_id not in group.members and member.instance_id not in group.instances
    kind = subscriptions.kind(len(group.members) + is_newcomer)
    epoch, written = group.group_epoch, []
    if is_bumped or fresh_hash != group.metadata_hash:
        epoch += 1
        written.append(records.epoch_bumped(group.group_id, epoch, fresh_hash))
    if group.has_partition_metadata:
        written.append(records.partition_metadata_gone(group.group_id))
    return _Epoch(epoch, kind, tuple(written), MetadataSeen(topics.version, epoch))


def _is_metadata_stale(group: ConsumerGroup, topics: Topics) -> bool:
    """Return whether topics may have changed since the last hash comparison, or its epoch was never written."""
    seen = group.metadata_seen
    return seen is None or seen.version != topics.version or group.group_epoch < seen.group_epoch


def _assignor(
    group: ConsumerGroup, before: ConsumerGroupMember, member: ConsumerGroupMember, config: ConsumerConfig
) -> str:
    """Return the name of the assignor for the next target: the one that most members request."""
    counts = counted(group.assignor_counts, assignor_of(before), assignor_of(member))
    wished = preferred(counts)
    return config.assignors[0] if wished is None else wished


def _target(
    group: ConsumerGroup,
    before: ConsumerGroupMember,
    member: ConsumerGroupMember,
    epoch: _Epoch,
    topics: Topics,
    now_ms: int,
    config: ConsumerConfig,
) -> Generator[None, None, Target]:
    """Return the member's target: a new one if there is a new epoch and the assignment interval has passed."""
    if group.assignment_epoch >= epoch.number or not may_compute(group, config.assignment_interval_ms, now_ms):
        return last_target(group, member)
    return (
        yield from new_target(
            group,
            epoch.number,
            member,
            assignor=_assignor(group, before, member, config),
            kind=epoch.kind or Subscriptions(group).kind(len(group.members)),
            topics=topics,
            now_ms=now_ms,
        )
    )


def _reconciled(
    group: ConsumerGroup,
    member: ConsumerGroupMember,
    target: Target,
    request: HeartbeatRequest,
    has_subscription_changed: bool,
    topics: Topics,
) -> Steps[ConsumerGroupMember]:
    if not has_subscription_changed and member.is_reconciled_to(target.epoch):
        return member
    subscribed = topic_ids_of(member, group.regexes, topics)
    fields = target.epoch, target.assignment, subscribed, group.epoch_of, request.owned, has_subscription_changed
    return (yield from reconcile(member, _new_tuple(Circumstances, fields)))


def _revocation_effects(member: ConsumerGroupMember) -> list[Effect]:
    """Return the timer effects: a revoking member has its rebalance timeout. The classic protocol has other timers."""
    timer = rebalance_timer(member.member_id)
    if member.state is not MemberState.UNREVOKED_PARTITIONS:
        return [_new_tuple(CancelTimer, (timer,))]
    return [SetTimer(timer, member.rebalance_timeout_ms)] if member.classic is None else []
