"""Kafka's own task assignor of streams groups, called by tests: one JVM that answers line by line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from barnabas.broker.coordinator.group.decisions.streams.assignors.model import TaskGroup
from barnabas.broker.coordinator.group.decisions.streams.tasks import Tasks, TaskSets, task_map
from tests.support.clients.java import program_command
from tests.support.processes.program import Program

_SOURCE = Path(__file__).parents[2] / "oracle" / "TaskAssignors.java"


class KafkasTaskAssignor:
    """A context manager around the process."""

    def __init__(self) -> None:
        self._program = Program(program_command(_SOURCE))
        self._count = 0

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

    def _ask(self, question: Mapping[str, Any]) -> Any:
        self._count += 1
        self._program.tell(json.dumps({"number": self._count, **question}))
        prefix = f"{self._count} "
        return json.loads(self._program.line(prefix).removeprefix(prefix))

    def __enter__(self) -> KafkasTaskAssignor:
        return self

    def __exit__(self, *_: object) -> None:
        self._program.close()


def _lists(tasks: Tasks) -> dict[str, list[int]]:
    return {each: sorted(partitions) for each, partitions in tasks.items()}
