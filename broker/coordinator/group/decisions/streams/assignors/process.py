"""One process of a streams application while tasks are assigned: its members, and the tasks that each has got.

Invariants: the count of a member is the number of its tasks in either role; the load is tasks per member.
"""

from __future__ import annotations

from barnabas.broker.coordinator.group.decisions.consumer.assignors.hash_order import STRING, HashOrder
from barnabas.broker.coordinator.group.decisions.streams.assignors.model import Task
from barnabas.broker.coordinator.group.decisions.streams.assignors.priority_queue import PriorityQueue


class StreamsProcess:
    """The members of one process, and their tasks so far."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        """How many tasks a member has."""
        self.active: dict[str, list[Task]] = {}
        self.standby: dict[str, list[Task]] = {}
        self._tasks: set[Task] = set()
        self._count = 0
        self._by_load: PriorityQueue[str] | None = None

    @property
    def load(self) -> float:
        return self._count / len(self.counts)

    def add_member(self, member_id: str) -> None:
        self.counts[member_id] = 0

    def has_task(self, task: Task) -> bool:
        return task in self._tasks

    def add_task(self, member_id: str, task: Task, *, is_active: bool) -> int:
        """Give a task to a member; return how many it has now."""
        self._by_load = None  # built again: it is used after all such additions, for active and for standby tasks
        return self._add(member_id, task, is_active)

    def add_to_least_loaded(self, task: Task, *, is_active: bool) -> int:
        """Give a task to the member with the fewest tasks; return how many it has now."""
        if len(self.counts) == 1:
            return self._add(next(iter(self.counts)), task, is_active)
        if self._by_load is None:
            in_order = HashOrder(STRING, keys=self.counts).in_order()
            self._by_load = PriorityQueue(self.counts.__getitem__, in_order)
        member_id = self._by_load.poll()
        count = self._add(member_id, task, is_active)
        self._by_load.add(member_id)
        return count

    def _add(self, member_id: str, task: Task, is_active: bool) -> int:
        self._count += 1
        self._tasks.add(task)
        (self.active if is_active else self.standby).setdefault(member_id, []).append(task)
        self.counts[member_id] += 1
        return self.counts[member_id]
