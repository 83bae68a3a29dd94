"""Kafka's own assignor of share groups, called by tests: one JVM that answers line by line."""

from __future__ import annotations

from barnabas.broker.coordinator.group.decisions.share.assignor import ShareTargets, SharingSpec
from barnabas.protocol.primitives import uuid_text
from tests.support.kafka.answering_jvm import AnsweringJvm


class KafkasShareAssignor(AnsweringJvm):
    """A context manager around the process."""

    def __init__(self) -> None:
        super().__init__("ShareAssignor.java")

    def assign(self, spec: SharingSpec) -> ShareTargets:
        """What Kafka's assignor gives each member."""
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
        answer = self._ask(question)
        ids = {uuid_text(each): each for each in spec.partitions}
        return {
            member_id: {ids[each]: tuple(partitions) for each, partitions in mine.items()}
            for member_id, mine in answer.items()
        }
