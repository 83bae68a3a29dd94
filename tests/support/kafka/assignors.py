"""Kafka's own assignors, and Java's hash tables, called by tests: one JVM that answers line by line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.support.kafka.answering_jvm import AnsweringJvm
from tests.support.worlds.assigned_group import AssignedGroup, Records, records_of


class KafkasAssignors(AnsweringJvm):
    """A context manager around the process."""

    def __init__(self) -> None:
        super().__init__("Assignors.java")

    @property
    def java_version(self) -> int:
        return int(self._program.line("java ").removeprefix("java "))

    def assign(self, group: AssignedGroup, assignor: str) -> Records:
        """What Kafka's assignor writes."""
        return records_of(self._ask(group.question(assignor)))

    def iterate(self, key_type: str, capacity: int, steps: Sequence[tuple[str, Any]]) -> list[list[Any]]:
        """In which order Java iterates over a table, and over a HashSet made of its keys.

        `steps`: ("put" | "absent" | "remove", key) each, on a `new HashMap(capacity)`.
        """
        answer: list[list[Any]] = self._ask({"type": key_type, "capacity": capacity, "steps": list(steps)})
        return answer

    def timeline(self, member_ids: Sequence[str], largest: int) -> list[str]:
        """In which order the coordinator has these members, of a group that once had `largest`."""
        answer: list[str] = self._ask({"largest": largest, "keys": list(member_ids)})
        return answer
