"""Kafka's own assignor of share groups, called by tests: one JVM that answers line by line."""

from __future__ import annotations

import json
from pathlib import Path

from barnabas.broker.coordinator.group.decisions.share.assignor import ShareTargets, SharingSpec
from barnabas.protocol.primitives import uuid_text
from tests.support.clients.java import program_command
from tests.support.processes.program import Program

_SOURCE = Path(__file__).parents[2] / "oracle" / "ShareAssignor.java"


class KafkasShareAssignor:
    """A context manager around the process."""

    def __init__(self) -> None:
        self._program = Program(program_command(_SOURCE))
        self._count = 0

    def assign(self, spec: SharingSpec) -> ShareTargets:
        """What Kafka's assignor gives each member."""
        self._count += 1
        members = [
            {
                "id": member_id,
                "topics": [uuid_text(each) for each in member.topic_ids],
                "before": {uuid_text(each): partitions for each, partitions in member.assignment.items()},
            }
            for member_id, member in spec.members.items()
        ]
        topics = {uuid_text(each): len(partitions) for each, partitions in spec.partitions.items()}
        question = {"type": spec.subscription_type.name.lower(), "members": members, "topics": topics}
        self._program.tell(json.dumps({"number": self._count, **question}))
        prefix = f"{self._count} "
        answer = json.loads(self._program.line(prefix).removeprefix(prefix))
        ids = {uuid_text(each): each for each in spec.partitions}
        return {
            member_id: {ids[each]: tuple(partitions) for each, partitions in mine.items()}
            for member_id, mine in answer.items()
        }

    def __enter__(self) -> KafkasShareAssignor:
        return self

    def __exit__(self, *_: object) -> None:
        self._program.close()
