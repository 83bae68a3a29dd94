"""A consumer group on paper: topics, members that come and go, and what an assignor gave them, round after round.

It keeps members and names in the order in which they came, and targets as the records have them, which is what a
coordinator knows. From that it makes what our assignors are given, and the question for Kafka's.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from barnabas.broker.coordinator.group.decisions.consumer.assignors.by_name import ASSIGNORS
from barnabas.broker.coordinator.group.decisions.consumer.assignors.input_order import subscription, timeline_order
from barnabas.broker.coordinator.group.decisions.consumer.assignors.model import GroupSpec, MemberSpec, SubscriptionType
from barnabas.protocol.primitives import uuid_bytes, uuid_text
from barnabas.storage.steps import finish

Target: TypeAlias = list[tuple[bytes, list[int]]]
"""(topic id, partitions), in the order of the record."""
Records: TypeAlias = list[tuple[str, Target]]
"""(member id, its new target), of those whose target has changed, in the order in which they are written."""


@dataclass(frozen=True, slots=True)
class Topic:
    topic_id: bytes
    partitions: int


@dataclass(frozen=True, slots=True)
class Subscriber:
    names: tuple[str, ...]
    instance_id: str | None = None


class AssignedGroup:
    """`topics` by name, `members` and `targets` by member id; the dicts are there to be changed."""

    def __init__(self) -> None:
        self.topics: dict[str, Topic] = {}
        self.members: dict[str, Subscriber] = {}
        self.targets: dict[str, Target] = {}
        self._created = 0
        self._largest = 0

    def create_topic(self, name: str, partitions: int) -> None:
        """A topic with a new id, also where one of this name was deleted; an existing one grows."""
        if name in self.topics:
            self.topics[name] = Topic(self.topics[name].topic_id, partitions)
        else:
            self._created += 1
            digest = hashlib.sha256(f"{name} {self._created}".encode()).digest()
            self.topics[name] = Topic(digest[:16], partitions)

    def leave(self, member_id: str) -> None:
        """A member leaves, and so does its target."""
        del self.members[member_id]
        self.targets.pop(member_id, None)

    def replace(self, member_id: str, by: str) -> None:
        """A static member comes back as another, which takes over what it had."""
        self.members[by] = self.members.pop(member_id)
        self.targets[by] = self.targets.pop(member_id, [])

    def assign(self, assignor: str) -> Records:
        """What our assignor writes."""
        targets = finish(ASSIGNORS[assignor](self.spec()))
        assert targets.keys() == self.members.keys()
        return [
            (member_id, [(topic_id, list(partitions)) for topic_id, partitions in target.items()])
            for member_id, target in targets.items()
            if member_id not in self.targets or _content(list(target.items())) != _content(self.targets[member_id])
        ]

    def take(self, records: Records) -> None:
        """The records are written, and every member was updated."""
        self.targets.update(records)

    def spec(self) -> GroupSpec:
        """What our assignors are given."""
        topic_ids = {name: topic.topic_id for name, topic in self.topics.items()}
        members = {
            member_id: MemberSpec(
                finish(subscription(self.members[member_id].names, topic_ids)),
                dict(self.targets.get(member_id, [])),
                self.members[member_id].instance_id,
            )
            for member_id in finish(timeline_order(self.members, self._size_of_table()))
        }
        partitions = {topic.topic_id: topic.partitions for topic in self.topics.values()}
        return GroupSpec(members, partitions, self._subscription_type())

    def question(self, assignor: str) -> dict[str, Any]:
        """The request to Kafka's assignor: see tests/oracle/Assignors.java."""
        return {
            "assignor": assignor,
            "type": self._subscription_type().value,
            "largest": self._size_of_table(),
            "topics": [[name, uuid_text(topic.topic_id), topic.partitions] for name, topic in self.topics.items()],
            "members": [self._asked_of(member_id, member) for member_id, member in self.members.items()],
        }

    def _asked_of(self, member_id: str, member: Subscriber) -> dict[str, Any]:
        target = self.targets.get(member_id)
        assigned = None if target is None else [[uuid_text(topic_id), partitions] for topic_id, partitions in target]
        return {"id": member_id, "instance": member.instance_id, "names": member.names, "target": assigned}

    def _size_of_table(self) -> int:
        self._largest = max(self._largest, len(self.members))
        return self._largest

    def _subscription_type(self) -> SubscriptionType:
        same = len({frozenset(member.names) for member in self.members.values()}) <= 1
        return SubscriptionType.HOMOGENEOUS if same else SubscriptionType.HETEROGENEOUS


Ask: TypeAlias = Callable[[AssignedGroup, str], Records]
"""Ask an assignor for the next assignment of a group."""


def records_of(answer: list[list[Any]]) -> Records:
    """Kafka's answer to a question."""
    return [
        (member_id, [(uuid_bytes(text), partitions) for text, partitions in target]) for member_id, target in answer
    ]


def _content(target: Sequence[tuple[bytes, Sequence[int]]]) -> dict[bytes, frozenset[int]]:
    return {topic_id: frozenset(partitions) for topic_id, partitions in target}
