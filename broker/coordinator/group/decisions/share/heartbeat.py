"""The decisions about ShareGroupHeartbeat: joining, staying and leaving a share group (KIP-932).

One heartbeat does, in this order: the member is stored if it changed; the group epoch rises if the subscribed topics
changed, or if partitions got their first state and are not assigned yet; a new target is computed if the epoch rose;
the member moves to the target's epoch; states of new partitions begin. All of it is one batch of records.

A partition is assigned once it has a state. So a new group gets an empty assignment first, and its partitions with the
heartbeat after `InitializeShareStates` has been carried out.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import NamedTuple

from barnabas.broker.coordinator.group.decisions.consumer.assignors.model import SubscriptionType
from barnabas.broker.coordinator.group.decisions.consumer.model import Topics
from barnabas.broker.coordinator.group.decisions.consumer.subscriptions import metadata_hash
from barnabas.broker.coordinator.group.decisions.modern.group import MetadataSeen
from barnabas.broker.coordinator.group.decisions.modern.members import JOINING_EPOCH, check_group_size, known_member
from barnabas.broker.coordinator.group.decisions.modern.records import KeyedRecord, encoded
from barnabas.broker.coordinator.group.decisions.share import records, states
from barnabas.broker.coordinator.group.decisions.share.assignor import SharingMember, SharingSpec, assign_shared
from barnabas.broker.coordinator.group.decisions.share.checks import check_share_epoch
from barnabas.broker.coordinator.group.decisions.share.group import ShareGroup, share_subscription_type
from barnabas.broker.coordinator.group.decisions.share.leaving import ShareOutcome, share_session_timer
from barnabas.broker.coordinator.group.decisions.share.model import (
    NO_PARTITIONS,
    SharedPartitions,
    ShareGroupConfig,
    ShareGroupMember,
    ShareHeartbeatReply,
    ShareHeartbeatRequest,
)
from barnabas.broker.coordinator.runtime.outcome import Effect, InitializeShareStates, Outcome, SetTimer
from barnabas.broker.coordinator.runtime.partition_for import utf16


class _GroupEpoch(NamedTuple):
    """The group's epoch after the heartbeat."""

    number: int
    is_bumped: bool
    name_counts: dict[str, int]
    kind: SubscriptionType
    records: tuple[KeyedRecord, ...] = ()
    seen: MetadataSeen | None = None


class _ShareTarget(NamedTuple):
    """The member's target, and the records of all changed targets."""

    epoch: int
    assignment: SharedPartitions
    records: tuple[KeyedRecord, ...] = ()


def share_heartbeat(
    group: ShareGroup,
    request: ShareHeartbeatRequest,
    *,
    topics: Topics,
    now_ms: int,
    config: ShareGroupConfig,
    busy: Mapping[bytes, frozenset[int]],
) -> Generator[None, None, ShareOutcome]:
    """Decide a heartbeat of a member that does not leave; the reply is a ShareHeartbeatReply. Raises KafkaError.

    Runs in steps if a target is computed. `busy`: the partitions whose states are being initialized.
    """
    check_group_size(group, request.member_id, config.max_size)
    before = _known(group, request)
    member = _updated(before, request)
    written: list[KeyedRecord] = []
    if member != before or member.member_id not in group.members:
        written.append(records.share_member_stored(group.group_id, member))
    epoch = _epoch(group, before, member, topics)
    written += epoch.records
    target = yield from _target(group, member, epoch, topics, now_ms, config)
    written += target.records
    reconciled = _reconciled(member, target, epoch.is_bumped, topics)
    if reconciled != member:
        written.append(records.share_current_stored(group.group_id, reconciled))
    effects: list[Effect] = [SetTimer(share_session_timer(member.member_id), config.session_timeout_ms)]
    begun = states.uninitialized(group.states, epoch.name_counts, busy, topics)
    if begun:
        written.append(records.share_states_stored(group.group_id, states.with_initializing(group.states, begun)))
        partitions = {topic_id: topic.partitions for topic_id, topic in begun.items()}
        effects.append(InitializeShareStates(epoch.number, partitions))
    is_sent = request.topic_names is not None or request.member_epoch == JOINING_EPOCH
    is_sent = is_sent or reconciled.assigned != before.assigned
    reply = ShareHeartbeatReply(
        reconciled.member_id,
        reconciled.member_epoch,
        config.heartbeat_interval_ms,
        reconciled.assigned if is_sent else None,
    )
    return Outcome(records=tuple(written), volatile=epoch.seen, reply=reply, effects=tuple(effects))


def _known(group: ShareGroup, request: ShareHeartbeatRequest) -> ShareGroupMember:
    """Return the member before the heartbeat. UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH."""
    if request.member_epoch == JOINING_EPOCH:
        return group.members.get(request.member_id) or ShareGroupMember(request.member_id)
    member = known_member(group, request.member_id)
    check_share_epoch(member, request.member_epoch)
    return member


def _updated(member: ShareGroupMember, request: ShareHeartbeatRequest) -> ShareGroupMember:
    names = request.topic_names
    return member._replace(
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        topic_names=member.topic_names if names is None else tuple(sorted(set(names), key=utf16)),
        client_id=request.client_id,
        client_host=request.client_host,
    )


def _epoch(group: ShareGroup, before: ShareGroupMember, member: ShareGroupMember, topics: Topics) -> _GroupEpoch:
    """Return the next group epoch: one higher if topics change, or if partitions wait for their assignment."""
    is_bumped = before.topic_names != member.topic_names
    if group.assignment_epoch >= group.group_epoch:
        is_bumped = is_bumped or _waits_for_assignment(group, topics)
    counts = group.counts_with(before, [member])
    kind = share_subscription_type(counts, len(group.members) + (member.member_id not in group.members))
    seen = group.metadata_seen
    is_known = seen is not None and seen.version == topics.version and seen.group_epoch <= group.group_epoch
    if not is_bumped and is_known:
        return _GroupEpoch(group.group_epoch, False, counts, kind)
    fresh_hash = metadata_hash(counts, topics)
    is_bumped = is_bumped or fresh_hash != group.metadata_hash
    epoch = group.group_epoch + is_bumped
    written = (records.share_epoch_bumped(group.group_id, epoch, fresh_hash),) if is_bumped else ()
    return _GroupEpoch(epoch, is_bumped, counts, kind, written, MetadataSeen(topics.version, epoch))


def _waits_for_assignment(group: ShareGroup, topics: Topics) -> bool:
    """Return whether a subscribed topic has partitions with a state that no target contains, or the other way round."""
    if not group.members or not group.states.initialized:
        return False
    assigned: dict[bytes, set[int]] = {}
    for target in group.targets.values():
        for topic_id, numbers in target.items():
            assigned.setdefault(topic_id, set()).update(numbers)
    return any(
        topic.name in group.name_counts
        and topics.ids.get(topic.name) == topic_id  # it was not deleted, and perhaps created again
        and frozenset(assigned.get(topic_id, ())) != topic.partitions
        for topic_id, topic in group.states.initialized.items()
    )


def _target(
    group: ShareGroup,
    member: ShareGroupMember,
    epoch: _GroupEpoch,
    topics: Topics,
    now_ms: int,
    config: ShareGroupConfig,
) -> Generator[None, None, _ShareTarget]:
    """Return the member's target: a new one if there is a new epoch and the assignment interval has passed."""
    is_early = 0 != group.assignment_timestamp_ms > now_ms - config.assignment_interval_ms
    if group.assignment_epoch >= epoch.number or is_early:
        return _ShareTarget(group.assignment_epoch, group.target_of(member.member_id))
    members = {**group.members, member.member_id: member}
    spec = SharingSpec(
        {each.member_id: _sharing(group, each, topics) for each in members.values()},
        {topic_id: sorted(numbers) for topic_id, numbers in group.states.initialized_partitions.items()},
        epoch.kind,
    )
    yield
    targets = yield from assign_shared(spec)
    written: list[KeyedRecord] = []
    for member_id, target in targets.items():
        if group.targets.get(member_id) != target:
            written.append(encoded(records.share_target_stored(group.group_id, member_id, target)))
        yield
    written.append(records.share_targets_computed(group.group_id, epoch.number, now_ms))
    return _ShareTarget(epoch.number, targets.get(member.member_id, NO_PARTITIONS), tuple(written))


def _sharing(group: ShareGroup, member: ShareGroupMember, topics: Topics) -> SharingMember:
    return SharingMember(_ids_of(member.topic_names, topics), group.target_of(member.member_id))


def _ids_of(names: Iterable[str], topics: Topics) -> tuple[bytes, ...]:
    return tuple(topics.ids[name] for name in names if name in topics.ids)


def _reconciled(member: ShareGroupMember, target: _ShareTarget, is_bumped: bool, topics: Topics) -> ShareGroupMember:
    """Return the member with its target: at once, since partitions may have several readers at a time."""
    if target.epoch == member.member_epoch and not is_bumped:
        return member
    subscribed = _ids_of(member.topic_names, topics)
    assigned = {topic_id: numbers for topic_id, numbers in target.assignment.items() if topic_id in subscribed}
    if target.epoch == member.member_epoch:
        return member._replace(assigned=assigned)
    return member._replace(member_epoch=target.epoch, previous_member_epoch=member.member_epoch, assigned=assigned)
