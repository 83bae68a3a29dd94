"""The tasks of a streams group (KIP-1071): a task is a partition of a subtopology.

A task is active on one member; standby and warm-up tasks follow the changelogs of its state elsewhere. Plain values: a
subtopology without tasks is not in a map.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

Tasks: TypeAlias = Mapping[str, frozenset[int]]
"""Subtopology id -> partitions."""
TasksSince: TypeAlias = Mapping[str, Mapping[int, int]]
"""Subtopology id -> partition -> the assignment epoch since which the member has the task."""

NO_TASKS: Tasks = MappingProxyType({})
NO_TASKS_SINCE: TasksSince = MappingProxyType({})
_NONE: Mapping[int, int] = {}


class TaskSets(NamedTuple):
    """The tasks of a target assignment, or those that a member claims to have."""

    active: Tasks = NO_TASKS
    standby: Tasks = NO_TASKS
    warmup: Tasks = NO_TASKS

    def has_any_of(self, owned: OwnedTasks) -> bool:
        """Return whether one of the owned tasks is among these, in the same role."""
        return (
            _overlap(self.active, active_of(owned))
            or _overlap(self.standby, owned.standby)
            or _overlap(self.warmup, owned.warmup)
        )

    def __bool__(self) -> bool:
        return bool(self.active or self.standby or self.warmup)


class OwnedTasks(NamedTuple):
    """The tasks of a member; the active ones with their assignment epochs, by which late commits are judged."""

    active: TasksSince = NO_TASKS_SINCE
    standby: Tasks = NO_TASKS
    warmup: Tasks = NO_TASKS

    def __bool__(self) -> bool:
        return bool(self.active or self.standby or self.warmup)

    def since(self, subtopology_id: str, partition: int) -> int | None:
        """Return the assignment epoch of an active task; None if it is not one of these."""
        return self.active.get(subtopology_id, _NONE).get(partition)

    def includes(self, claimed: TaskSets) -> bool:
        """Return whether all claimed tasks are among these, in the same role."""
        return (
            _is_within(claimed.active, active_of(self))
            and _is_within(claimed.standby, self.standby)
            and _is_within(claimed.warmup, self.warmup)
        )


NOTHING_CLAIMED = TaskSets()
NO_OWNED_TASKS = OwnedTasks()


def active_of(owned: OwnedTasks) -> Tasks:
    """Return the active tasks without their epochs."""
    return {subtopology_id: frozenset(epochs) for subtopology_id, epochs in owned.active.items()}


def task_map(tasks: Iterable[tuple[str, Iterable[int]]]) -> Tasks:
    """Return the tasks of a record or request; the last list of a subtopology counts. Empty lists are left out."""
    found = {subtopology_id: frozenset(partitions) for subtopology_id, partitions in tasks}
    return {subtopology_id: partitions for subtopology_id, partitions in found.items() if partitions} or NO_TASKS


def _overlap(one: Tasks, other: Tasks) -> bool:
    return any(not partitions.isdisjoint(other.get(each, ())) for each, partitions in one.items())


def _is_within(claimed: Tasks, owned: Tasks) -> bool:
    return all(partitions <= owned.get(each, frozenset()) for each, partitions in claimed.items())
