"""The decisions about StreamsGroupHeartbeat: joining, staying, and static members with a new id (KIP-1071).

One heartbeat does, in this order: the member is stored if it changed; the topology is stored if it is the first; it is
compared with the topics if these may have changed; the group epoch rises if anything of this matters; a new target is
computed if the epoch rose, at first after a delay; the member takes its next step towards its target. All of it is one
batch of records.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, TypeAlias

from barnabas.broker.coordinator.group.decisions.consumer.model import (
    Topics,
)
from barnabas.broker.coordinator.group.decisions.consumer.subscriptions import metadata_hash
from barnabas.broker.coordinator.group.decisions.modern.members import (
    JOINING_EPOCH,
    check_group_size,
    check_released,
    known_member,
    known_static_member,
)
from barnabas.broker.coordinator.group.decisions.modern.records import KeyedRecord, encoded_in_steps
from barnabas.broker.coordinator.group.decisions.streams import records
from barnabas.broker.coordinator.group.decisions.streams.checks import (
    check_epoch,
    check_tasks,
)
from barnabas.broker.coordinator.group.decisions.streams.endpoints import endpoints
from barnabas.broker.coordinator.group.decisions.streams.group import NO_TOPOLOGY_EPOCH, StreamsGroup
from barnabas.broker.coordinator.group.decisions.streams.model import (
    GroupStatus,
    StreamsConfig,
    StreamsGroupMember,
    StreamsHeartbeatReply,
    StreamsHeartbeatRequest,
    StreamsMemberState,
    StreamsVolatile,
)
from barnabas.broker.coordinator.group.decisions.streams.reconciliation import TaskTarget, reconcile
from barnabas.broker.coordinator.group.decisions.streams.targets import may_compute, new_targets
from barnabas.broker.coordinator.group.decisions.streams.task_offsets import with_report
from barnabas.broker.coordinator.group.decisions.streams.tasks import TaskSets, active_of
from barnabas.broker.coordinator.group.decisions.streams.timers import (
    INITIAL_REBALANCE,
    cancelled_timers,
    rebalance_timer,
    session_timer,
)
from barnabas.broker.coordinator.group.decisions.streams.topics.copartitioning import TopologyStatus
from barnabas.broker.coordinator.group.decisions.streams.topics.internal_topics import ConfiguredTopology, configured
from barnabas.broker.coordinator.group.decisions.streams.topics.topology import StreamsTopology
from barnabas.broker.coordinator.runtime.outcome import CancelTimer, Effect, Outcome, SetTimer
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.steps import Steps, mapped

StreamsOutcome: TypeAlias = Outcome[KeyedRecord, StreamsVolatile]

_NO_TARGET = TaskSets()
_DELAYED = GroupStatus(
    TopologyStatus.ASSIGNMENT_DELAYED, "Assignment delayed due to the configured initial rebalance delay."
)
_TOO_EARLY = GroupStatus(
    TopologyStatus.ASSIGNMENT_DELAYED, "Assignment delayed due to the configured assignment interval."
)


class _Step:
    """One heartbeat while it is decided: what it writes and does, and the statuses for its answer."""

    def __init__(self, group: StreamsGroup, request: StreamsHeartbeatRequest) -> None:
        self.group, self.request = group, request
        self.records: list[KeyedRecord] = []
        self.effects: list[Effect] = []
        self.statuses: list[GroupStatus] = []
        self.volatile = group.volatile


class _Epoch(NamedTuple):
    number: int
    topology: ConfiguredTopology


def heartbeat(
    group: StreamsGroup, request: StreamsHeartbeatRequest, *, topics: Topics, now_ms: int, config: StreamsConfig
) -> Steps[StreamsOutcome]:
    """Decide a heartbeat of a member that does not leave; the reply is a StreamsHeartbeatReply. Raises KafkaError.

    In steps: the group must not change in between, topics may.
    """
    is_joining = request.member_epoch == JOINING_EPOCH
    if is_joining:
        takes_place = group.static_member(request.instance_id) is not None
        check_group_size(group, request.member_id, config.max_size, takes_place=takes_place)
    step = _Step(group, request)
    before = _member(step)
    member = _updated(before, request)
    if member != before:
        step.records.append(records.member_stored(group.group_id, member))
    topology = yield from _topology(step, member)
    epoch = yield from _epoch(step, before, member, topology, topics, config)
    target = yield from _target(step, member, epoch, config, now_ms)
    member = _reconciled(step, member, target)
    step.effects.append(SetTimer(session_timer(member.member_id), config.session_timeout_ms))
    is_changed = _tasks(before) != _tasks(member)
    _note_volatile(step, before, member, is_changed=is_changed)
    reply = yield from _reply(step, member, epoch.topology, topics, config, is_sent=is_joining or is_changed)
    return Outcome(records=tuple(step.records), volatile=step.volatile, reply=reply, effects=tuple(step.effects))


# The member


def _member(step: _Step) -> StreamsGroupMember:
    """Return the member's previous state: of a new member, a known one, or a static member that comes back."""
    group, request = step.group, step.request
    is_joining = request.member_epoch == JOINING_EPOCH
    fresh = StreamsGroupMember(request.member_id)
    if request.instance_id is None:
        member = group.members.get(request.member_id, fresh) if is_joining else known_member(group, request.member_id)
        check_epoch(member, request.member_epoch, request.owned)
        return member
    if not is_joining:
        member = known_static_member(group, request.member_id, request.instance_id)
        check_epoch(member, request.member_epoch, request.owned)
        return member
    holder = group.static_member(request.instance_id)
    if holder is None:
        return group.members.get(request.member_id, fresh)
    check_released(holder, request.member_id)
    member = holder._replace(member_id=request.member_id, member_epoch=0, previous_member_epoch=0)
    step.records += _replacement(group, holder, member)
    step.effects += cancelled_timers(holder.member_id)
    return member


def _replacement(group: StreamsGroup, old: StreamsGroupMember, new: StreamsGroupMember) -> list[KeyedRecord]:
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


def _updated(member: StreamsGroupMember, request: StreamsHeartbeatRequest) -> StreamsGroupMember:
    """Return the member with the fields of the request."""
    rebalance_timeout_ms = request.rebalance_timeout_ms
    return member._replace(
        instance_id=member.instance_id if request.instance_id is None else request.instance_id,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if rebalance_timeout_ms == -1 else rebalance_timeout_ms,
        topology_epoch=member.topology_epoch if request.topology is None else request.topology.epoch,
        process_id=member.process_id if request.process_id is None else request.process_id,
        client_tags=member.client_tags if request.client_tags is None else request.client_tags,
        user_endpoint=member.user_endpoint if request.user_endpoint is None else request.user_endpoint,
        client_id=request.client_id,
        client_host=request.client_host,
    )


def _matters(before: StreamsGroupMember, member: StreamsGroupMember, group: StreamsGroup) -> bool:
    """Return whether the change of a member makes a new target necessary."""
    is_new = before.member_id not in group.members and group.static_member(member.instance_id) is None
    return is_new or any(
        getattr(before, each) != getattr(member, each)
        for each in ("topology_epoch", "rack_id", "client_tags", "process_id")
    )


# The topology and the group's epoch


def _topology(step: _Step, member: StreamsGroupMember) -> Steps[StreamsTopology]:
    """Return the group's topology: the stored one, or the first one. INVALID_REQUEST for another one.

    The record of the first one is encoded already: it may be very large.
    """
    group, declared = step.group, step.request.topology
    if group.topology is None:
        if declared is None:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "The group has no topology.")
        step.records.append((yield from encoded_in_steps(records.topology_stored(group.group_id, declared))))
        return declared
    if declared is not None and declared.epoch >= group.topology.epoch:
        is_known = yield from declared.is_like(group.topology)
        if not is_known:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Topology updates are not supported yet.")
    if member.topology_epoch < group.topology.epoch:
        detail = (
            f"The member's topology epoch {member.topology_epoch} is behind the group's topology epoch "
            f"{group.topology.epoch}."
        )
        step.statuses.append(GroupStatus(TopologyStatus.STALE_TOPOLOGY, detail))
    return group.topology


def _epoch(
    step: _Step,
    before: StreamsGroupMember,
    member: StreamsGroupMember,
    topology: StreamsTopology,
    topics: Topics,
    config: StreamsConfig,
) -> Steps[_Epoch]:
    """Return the next group epoch, and the topology as it fits the topics now."""
    group, seen = step.group, step.volatile
    fresh_hash, compared = group.metadata_hash, seen.configured
    version = topics.version
    is_stale = seen.topics_version != version or group.group_epoch < seen.group_epoch
    if group.topology is None or compared is None or is_stale:
        fresh_hash = yield from _metadata_hash(topology, topics)
        if group.topology is None or compared is None or fresh_hash != group.metadata_hash:
            compared = yield from configured(topology, topics)
    if compared.is_ready:
        check_tasks(compared, step.request.owned)
    task_offsets = with_report(
        seen.task_offsets, member.member_id, group.members, step.request.task_offsets, step.request.task_end_offsets
    )
    validated = topology.epoch if compared.is_ready else NO_TOPOLOGY_EPOCH
    configs = config.assignment_configs
    is_bumped = (
        _matters(before, member, group)
        or fresh_hash != group.metadata_hash
        or validated != group.validated_topology_epoch
        or dict(configs) != dict(group.assignment_configs)
    )
    epoch = group.group_epoch + is_bumped
    if is_bumped:
        stored = records.group_stored(
            group.group_id,
            epoch,
            metadata_hash=fresh_hash,
            validated_topology_epoch=validated,
            assignment_configs=configs,
        )
        step.records.append(stored)
    step.volatile = replace(
        seen, configured=compared, topics_version=version, group_epoch=epoch, task_offsets=task_offsets
    )
    return _Epoch(epoch, compared)


def _metadata_hash(topology: StreamsTopology, topics: Topics) -> Steps[int]:
    """Return the hash of the topology's topics as they are now. In steps: those of many topics are computed before."""
    names = yield from topology.required_topics()
    yield from mapped(lambda name: topics.hash(name) if name in topics.ids else 0, names)
    fresh_hash = metadata_hash(names, topics)
    yield
    return fresh_hash


# The target and the member's way to it


def _target(
    step: _Step, member: StreamsGroupMember, epoch: _Epoch, config: StreamsConfig, now_ms: int
) -> Steps[TaskTarget]:
    """Return the member's target: a new one if there is a new epoch, and no delay."""
    group = step.group
    if not group.members and config.initial_rebalance_delay_ms > 0 and not step.volatile.is_delayed:
        step.effects.append(SetTimer(INITIAL_REBALANCE, config.initial_rebalance_delay_ms))
        step.volatile = replace(step.volatile, is_delayed=True)
    if step.volatile.is_delayed:
        step.statuses.append(_DELAYED)
        return TaskTarget(group.assignment_epoch, _NO_TARGET)
    if group.assignment_epoch >= epoch.number:
        return TaskTarget(group.assignment_epoch, group.target_of(member))
    if not may_compute(group, config.assignment_interval_ms, now_ms):
        step.statuses.append(_TOO_EARLY)
        return TaskTarget(group.assignment_epoch, group.target_of(member))
    targets = yield from new_targets(
        group,
        epoch.number,
        epoch.topology,
        updated=member,
        task_offsets=step.volatile.task_offsets,
        config=config,
        now_ms=now_ms,
    )
    step.records += targets.records
    return TaskTarget(epoch.number, targets.by_member[member.member_id])


def _reconciled(step: _Step, member: StreamsGroupMember, target: TaskTarget) -> StreamsGroupMember:
    found = reconcile(step.group, member, target, step.request.owned)
    if found == member:
        return member
    step.records.append(records.current_stored(step.group.group_id, found))
    timer = rebalance_timer(found.member_id)
    if found.state is StreamsMemberState.UNREVOKED_TASKS:
        step.effects.append(SetTimer(timer, found.rebalance_timeout_ms))
    else:
        step.effects.append(CancelTimer(timer))
    return found


# The answer


def _note_volatile(step: _Step, before: StreamsGroupMember, member: StreamsGroupMember, *, is_changed: bool) -> None:
    volatile = step.volatile
    if step.request.shutdown_application and volatile.shutdown_member_id is None:
        volatile = replace(volatile, shutdown_member_id=member.member_id)
    if before.user_endpoint != member.user_endpoint or (is_changed and member.user_endpoint is not None):
        volatile = replace(volatile, endpoint_epoch=volatile.endpoint_epoch + 1)
    step.volatile = volatile


def _reply(
    step: _Step,
    member: StreamsGroupMember,
    topology: ConfiguredTopology,
    topics: Topics,
    config: StreamsConfig,
    *,
    is_sent: bool,
) -> Steps[StreamsHeartbeatReply]:
    if topology.problem is not None:
        step.statuses.append(GroupStatus(*topology.problem))
    shutdown_member_id = step.volatile.shutdown_member_id
    if shutdown_member_id is not None:
        step.statuses.append(shutdown_status(shutdown_member_id))
    missing_tags = [tag for tag in config.rack_aware_tags if tag not in member.client_tags]
    if missing_tags:
        step.statuses.append(_missing_tags_status(missing_tags))
    found = None
    if step.volatile.endpoint_epoch != step.request.endpoint_epoch:
        found = yield from endpoints(step.group, member, topology, topics)
    return StreamsHeartbeatReply(
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        heartbeat_interval_ms=config.heartbeat_interval_ms,
        task_offset_interval_ms=config.task_offset_interval_ms,
        acceptable_recovery_lag=config.acceptable_recovery_lag,
        statuses=tuple(step.statuses),
        tasks=_tasks(member) if is_sent else None,
        endpoint_epoch=step.volatile.endpoint_epoch if step.group.members else 0,
        endpoints=found,
        missing_topics=topology.missing,
    )


def _tasks(member: StreamsGroupMember) -> TaskSets:
    assigned = member.assigned
    return TaskSets(active_of(assigned), assigned.standby, assigned.warmup)


def _missing_tags_status(tags: list[str]) -> GroupStatus:
    detail = (
        f"Missing required client tags for rack-aware standby assignment: [{', '.join(tags)}]. "
        "Configure them via 'client.tag.<tagKey>' in your Streams config."
    )
    return GroupStatus(TopologyStatus.MISSING_CLIENT_TAGS, detail)


def shutdown_status(member_id: str) -> GroupStatus:
    """Return the status by which all members end, because one of them requested it."""
    detail = (
        f"Streams group member {member_id} encountered a fatal error and requested a shutdown for the entire "
        "application."
    )
    return GroupStatus(TopologyStatus.SHUTDOWN_APPLICATION, detail)
