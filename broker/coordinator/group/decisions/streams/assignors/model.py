"""The input of a task assignor: the members of a streams group and the subtopologies, as values."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from barnabas.broker.coordinator.group.decisions.streams.task_offsets import OffsetSums
from barnabas.broker.coordinator.group.decisions.streams.tasks import TaskSets


class Task(NamedTuple):
    """One task; in Kafka's order by subtopology, then partition."""

    subtopology_id: str
    partition: int


class AssignedStreamsMember(NamedTuple):
    """A member before the assignment."""

    process_id: str
    before: TaskSets
    offset_sums: OffsetSums = MappingProxyType({})
    """How far its process has read the changelogs of tasks, also of tasks that other members have now."""


class TaskGroup(NamedTuple):
    """A streams group: its members in the order of Kafka's HashMap, and its tasks."""

    members: Mapping[str, AssignedStreamsMember]
    tasks_counts: Mapping[str, int]
    """Numbers of tasks by subtopology id, sorted as Java's strings."""
    stateful: frozenset[str]
    """The subtopologies with state: only these have standby tasks."""
    num_standby_replicas: int = 0

    def active_tasks(self) -> list[Task]:
        return [Task(each, number) for each, count in self.tasks_counts.items() for number in range(count)]

    def standby_tasks(self) -> list[Task]:
        return [task for task in self.active_tasks() if task.subtopology_id in self.stateful]


class TaskAssignorError(Exception):
    """Raised if there is no member for a task."""
