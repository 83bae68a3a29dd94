"""The assignor `sticky` (KIP-1071): tasks stay where they were or where a standby was, and loads are even.

As in Kafka 4.4: active tasks go back to their last members up to an even share, then to members with a copy of their
state, the rest to the least loaded process. Standby tasks go to processes that do not have the task yet, first to its
last members. A member has a copy if it had the standby task, or has reported offsets of the task's changelogs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.broker.coordinator.group.decisions.consumer.assignors.hash_order import STRING, HashOrder, table_size
from barnabas.broker.coordinator.group.decisions.streams.assignors.model import (
    AssignedStreamsMember,
    Task,
    TaskAssignorError,
    TaskGroup,
)
from barnabas.broker.coordinator.group.decisions.streams.assignors.priority_queue import PriorityQueue
from barnabas.broker.coordinator.group.decisions.streams.assignors.process import StreamsProcess
from barnabas.broker.coordinator.group.decisions.streams.tasks import NO_TASKS, Tasks, TaskSets
from barnabas.broker.coordinator.runtime.partition_for import utf16
from barnabas.storage.steps import Pauses, Steps


def sticky(group: TaskGroup) -> Steps[dict[str, TaskSets]]:
    """Return the tasks of each member; in steps. TaskAssignorError if there are tasks and no members."""
    draft = _Draft(group)
    yield from draft.read_members()
    yield from draft.assign_active(group.active_tasks())
    if group.num_standby_replicas > 0:
        yield from draft.assign_standby(group.standby_tasks())
    found: dict[str, TaskSets] = {}
    for member_id, member in group.members.items():
        process = draft.processes[member.process_id]
        active, standby = process.active.get(member_id, ()), process.standby.get(member_id, ())
        found[member_id] = TaskSets(_by_subtopology(active), _by_subtopology(standby))
        yield
    return found


class _Member(NamedTuple):
    member_id: str
    process: StreamsProcess

    @property
    def tasks_count(self) -> int:
        return self.process.counts[self.member_id]


class _Copy(NamedTuple):
    """A member's copy of the state of a task."""

    member: _Member
    is_standby: bool
    """Whether the member has the standby task; if not, its process has had the task before."""
    offset_sum: int


class _Quota:
    """An even share of tasks per member: each member that reaches it leaves the rest to the others."""

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks, self._members = tasks, members
        self.share = self._computed()

    def has_room(self, member: _Member) -> bool:
        return member.tasks_count < self.share

    def reached(self, count: int) -> None:
        """Compute the share again if a member that now has so many tasks has reached it."""
        if count == self.share:
            self._members -= 1
            self._tasks -= count
            self.share = self._computed()

    def _computed(self) -> int:
        return -(-self._tasks // self._members) if self._members > 0 else 0


class _Draft:
    """The state of one assignment."""

    def __init__(self, group: TaskGroup) -> None:
        self._group = group
        active_count = sum(group.tasks_counts.values())
        standby_count = group.num_standby_replicas * sum(group.tasks_counts[each] for each in group.stateful)
        self._of_active = _Quota(active_count, len(group.members))
        self._of_all = _Quota(active_count + standby_count, len(group.members))
        self.processes: dict[str, StreamsProcess] = {}
        self._in_order = HashOrder(STRING, table_size(len(group.members)))
        self._last_active: dict[Task, _Member] = {}
        self._with_state: dict[Task, list[_Member]] = {}
        """By task, the members with a copy of its state: those with a standby task first, then the largest copies."""
        self._pauses = Pauses()

    def read_members(self) -> Steps[None]:
        """Read the members' processes, previous tasks and copies of states."""
        copies: dict[Task, list[_Copy]] = {}
        for member_id, spec in self._group.members.items():
            process = self.processes.setdefault(spec.process_id, StreamsProcess())
            self._in_order.compute_if_absent(spec.process_id)
            process.add_member(member_id)
            member = _Member(member_id, process)
            for task in _tasks(spec.before.active):
                self._last_active[task] = member
            for task, copy in _copies(spec, member):
                copies.setdefault(task, []).append(copy)
            yield
        for task, of_task in copies.items():
            of_task.sort(key=lambda copy: (not copy.is_standby, -copy.offset_sum))
            self._with_state[task] = [copy.member for copy in of_task]
            if self._pauses.is_due(len(of_task)):
                yield

    def assign_active(self, tasks: list[Task]) -> Steps[None]:
        tasks.sort(key=lambda task: (task.partition, utf16(task.subtopology_id)))
        yield
        left: list[Task] = []
        for task in tasks:
            if not self._has_taken(self._last_active.get(task), task):
                left.append(task)
            if self._pauses.is_due():
                yield
        tasks, left = left, []
        for task in tasks:
            if not self._has_taken(self._least_loaded(task), task):
                left.append(task)
            if self._pauses.is_due():
                yield
        left.sort(key=lambda task: (utf16(task.subtopology_id), task.partition))
        yield
        by_load = self._by_load()
        for task in left:
            if not by_load:
                raise TaskAssignorError(f"No process available to assign active task {_text(task)}.")
            process = by_load.poll()
            self._count_active(process.add_to_least_loaded(task, is_active=True))
            by_load.add(process)
            if self._pauses.is_due():
                yield

    def _has_taken(self, member: _Member | None, task: Task) -> bool:
        """Give an active task to a member, if it has room for it."""
        if member is None or not self._of_active.has_room(member):
            return False
        self._count_active(member.process.add_task(member.member_id, task, is_active=True))
        return True

    def _count_active(self, count: int) -> None:
        self._of_active.reached(count)
        self._of_all.reached(count)

    def assign_standby(self, tasks: list[Task]) -> Steps[None]:
        replicas = self._group.num_standby_replicas
        tasks.sort(key=lambda task: (task.partition, utf16(task.subtopology_id)), reverse=True)
        yield
        left: list[tuple[Task, int]] = []
        for task in tasks:
            for number in range(replicas):
                if not self._has_gone_back(task):
                    left.append((task, replicas - number))
                    break
            if self._pauses.is_due():
                yield
        left.sort(key=lambda each: (utf16(each[0].subtopology_id), each[0].partition), reverse=True)
        yield
        by_load = self._by_load()
        for task, count in left:
            for _ in range(count):
                if not self._has_found_process(by_load, task):
                    break  # there are not enough processes
            if self._pauses.is_due():
                yield

    def _has_gone_back(self, task: Task) -> bool:
        """Give a standby task to a member that had the task before, if one has room and its process not the task."""
        active = self._last_active.get(task)
        if active is not None and not active.process.has_task(task) and self._of_all.has_room(active):
            self._of_all.reached(active.process.add_task(active.member_id, task, is_active=False))
            return True
        standby = self._least_loaded(task, is_new_to_process=True)
        if standby is None or not self._of_all.has_room(standby):
            return False
        self._of_all.reached(standby.process.add_task(standby.member_id, task, is_active=False))
        return True

    def _has_found_process(self, by_load: PriorityQueue[StreamsProcess], task: Task) -> bool:
        """Give a standby task to the least loaded process that does not have it; False if all have."""
        passed: list[StreamsProcess] = []
        has_found = False
        while by_load and not has_found:
            process = by_load.poll()
            passed.append(process)
            if not process.has_task(task):
                self._of_all.reached(process.add_to_least_loaded(task, is_active=False))
                has_found = True
        for process in reversed(passed):
            by_load.add(process)
        return has_found

    def _least_loaded(self, task: Task, *, is_new_to_process: bool = False) -> _Member | None:
        """Return a member with a copy of the state: the first, or one with less load in process and member."""
        best: _Member | None = None
        load = tasks_count = 0.0
        for member in self._with_state.get(task, ()):
            if is_new_to_process and member.process.has_task(task):
                continue
            if best is None or (member.process.load < load and member.tasks_count < tasks_count):
                best, load, tasks_count = member, member.process.load, member.tasks_count
        return best

    def _by_load(self) -> PriorityQueue[StreamsProcess]:
        in_order = [self.processes[process_id] for process_id in self._in_order.in_order()]
        return PriorityQueue(lambda process: process.load, in_order)


def _copies(spec: AssignedStreamsMember, member: _Member) -> Iterator[tuple[Task, _Copy]]:
    """Yield the standby tasks of a member, and the other tasks of which its process has state on disk."""
    for task in _tasks(spec.before.standby):
        offset_sum = spec.offset_sums.get(task.subtopology_id, {}).get(task.partition, 0)
        yield task, _Copy(member, is_standby=True, offset_sum=offset_sum)
    for subtopology_id, sums in spec.offset_sums.items():
        standby = spec.before.standby.get(subtopology_id, ())
        for number, offset_sum in sums.items():
            if number not in standby:
                yield Task(subtopology_id, number), _Copy(member, is_standby=False, offset_sum=offset_sum)


def _tasks(tasks: Tasks) -> list[Task]:
    return [Task(subtopology_id, number) for subtopology_id, numbers in tasks.items() for number in numbers]


def _by_subtopology(tasks: list[Task] | tuple[()]) -> Tasks:
    found: dict[str, set[int]] = {}
    for task in tasks:
        found.setdefault(task.subtopology_id, set()).add(task.partition)
    return {subtopology_id: frozenset(numbers) for subtopology_id, numbers in found.items()} or NO_TASKS


def _text(task: Task) -> str:
    return f"{task.subtopology_id}_{task.partition}"
