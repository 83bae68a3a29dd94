"""Kafka's own task assignor of streams groups, called by tests: one JVM that answers line by line."""

from __future__ import annotations

from barnabas.broker.coordinator.group.decisions.streams.assignors.model import TaskGroup
from barnabas.broker.coordinator.group.decisions.streams.tasks import Tasks, TaskSets, task_map
from tests.support.kafka.answering_jvm import AnsweringJvm


class KafkasTaskAssignor(AnsweringJvm):
    """A context manager around the process."""

    def __init__(self) -> None:
        super().__init__("TaskAssignors.java")

    def assign(self, group: TaskGroup) -> dict[str, TaskSets]:
        """The tasks that Kafka's assignor gives each member."""
        members = [
            {
                "id": member_id,
                "process": member.process_id,
                "active": _lists(member.before.active),
                "standby": _lists(member.before.standby),
                "offsets": {each: list(sums.items()) for each, sums in member.offset_sums.items()},
            }
            for member_id, member in group.members.items()
        ]
        rows = [[each, count, each in group.stateful] for each, count in group.tasks_counts.items()]
        answer = self._ask({"members": members, "subtopologies": rows, "standby": group.num_standby_replicas})
        return {
            member_id: TaskSets(task_map(active.items()), task_map(standby.items()))
            for member_id, (active, standby) in answer.items()
        }


def _lists(tasks: Tasks) -> dict[str, list[int]]:
    return {each: sorted(partitions) for each, partitions in tasks.items()}
