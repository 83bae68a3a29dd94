"""The way of a member of a streams group to its target assignment (KIP-1071): which tasks it may have next. Pure.

As in consumer groups, tasks are given up before others are assigned. An active task is free if no member has it, and
no other role of it is on the member's own process, whose state directory it needs; a standby or warm-up task is free
if its process does not have the task in any role.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from barnabas.broker.coordinator.group.decisions.streams.group import StreamsGroup
from barnabas.broker.coordinator.group.decisions.streams.model import StreamsGroupMember, StreamsMemberState
from barnabas.broker.coordinator.group.decisions.streams.tasks import (
    NO_OWNED_TASKS,
    OwnedTasks,
    Tasks,
    TaskSets,
    active_of,
)
from barnabas.protocol.errors import ErrorCode, KafkaError


class TaskTarget(NamedTuple):
    """The target of one member."""

    epoch: int
    tasks: TaskSets


def reconcile(
    group: StreamsGroup, member: StreamsGroupMember, target: TaskTarget, owned: TaskSets | None
) -> StreamsGroupMember:
    """Return the member's successor; the same one if nothing changes. FENCED_MEMBER_EPOCH for an unknown state.

    owned: the tasks that the member claims to have; None: not sent.
    """
    if member.is_reconciled_to(target.epoch):
        return member
    match member.state:
        case StreamsMemberState.UNREVOKED_TASKS:
            if owned is None or owned.has_any_of(member.pending_revocation):
                return member
            return _next(group, member, target, owned, member.member_epoch + 1)
        case StreamsMemberState.UNKNOWN:
            if owned is None or owned:
                raise KafkaError(
                    ErrorCode.FENCED_MEMBER_EPOCH,
                    "The streams group member is in a unknown state. The member must abandon all its tasks and rejoin.",
                )
            return _next(group, member, target, owned, target.epoch)
        case _:
            return _next(group, member, target, owned, member.member_epoch)


class _Change(NamedTuple):
    """The difference between a member's tasks of one role and its target."""

    retained: Tasks
    revoked: Tasks
    added: Tasks
    waits: bool


def _next(
    group: StreamsGroup,
    member: StreamsGroupMember,
    target: TaskTarget,
    owned: TaskSets | None,
    epoch_while_revoking: int,
) -> StreamsGroupMember:
    """Give up tasks outside the target; after that, add the free ones of the target."""

    def is_active_free(subtopology_id: str, number: int) -> bool:
        return not group.has_active_owner(subtopology_id, number) and not group.has_on_process(
            member.process_id, subtopology_id, number, is_active=False
        )

    def is_copy_free(subtopology_id: str, number: int) -> bool:
        return not group.has_on_process(member.process_id, subtopology_id, number, is_active=True)

    assigned = member.assigned
    active = _change(active_of(assigned), target.tasks.active, is_active_free)
    standby = _change(assigned.standby, target.tasks.standby, is_copy_free)
    warmup = _change(assigned.warmup, target.tasks.warmup, is_copy_free)
    retained = OwnedTasks(_since(assigned, active.retained), standby.retained, warmup.retained)
    revoked = OwnedTasks(_since(assigned, active.revoked), standby.revoked, warmup.revoked)
    if revoked and (owned is None or owned.has_any_of(revoked)):
        return member.moved_to(epoch_while_revoking)._replace(
            state=StreamsMemberState.UNREVOKED_TASKS, assigned=retained, pending_revocation=revoked
        )
    waits = active.waits or standby.waits or warmup.waits
    return member.moved_to(target.epoch)._replace(
        state=StreamsMemberState.UNRELEASED_TASKS if waits else StreamsMemberState.STABLE,
        assigned=OwnedTasks(
            _with_new(retained, active.added, target.epoch),
            _merged(standby.retained, standby.added),
            _merged(warmup.retained, warmup.added),
        ),
        pending_revocation=NO_OWNED_TASKS,
    )


def _change(had: Tasks, wanted: Tasks, is_free: Callable[[str, int], bool]) -> _Change:
    retained: dict[str, frozenset[int]] = {}
    revoked: dict[str, frozenset[int]] = {}
    added: dict[str, frozenset[int]] = {}
    waits = False
    for each in dict.fromkeys((*wanted, *had)):
        mine, target = had.get(each, frozenset()), wanted.get(each, frozenset())
        missing = target - mine
        free = frozenset(number for number in missing if is_free(each, number))
        waits = waits or len(free) < len(missing)
        for found, numbers in ((retained, mine & target), (revoked, mine - target), (added, free)):
            if numbers:
                found[each] = numbers
    return _Change(retained, revoked, added, waits)


def _since(assigned: OwnedTasks, tasks: Tasks) -> dict[str, dict[int, int]]:
    """Return active tasks with the epochs in which the member got them."""
    return {each: {number: assigned.active[each][number] for number in sorted(tasks[each])} for each in tasks}


def _with_new(retained: OwnedTasks, added: Tasks, epoch: int) -> dict[str, dict[int, int]]:
    found = {each: dict(epochs) for each, epochs in retained.active.items()}
    for each, numbers in added.items():
        mine = found.setdefault(each, {})
        mine.update(dict.fromkeys(numbers, epoch))
        found[each] = dict(sorted(mine.items()))
    return found


def _merged(one: Tasks, other: Tasks) -> Tasks:
    return {each: one.get(each, frozenset()) | other.get(each, frozenset()) for each in dict.fromkeys((*one, *other))}
