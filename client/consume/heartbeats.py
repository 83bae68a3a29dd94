"""What a ConsumerGroupHeartbeat says (KIP-848). Pure: it asks nobody.

A member says everything when it joins, and after that only what has changed since the coordinator last answered. After
a request whose answer is not known, or was an error, it says everything again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from barnabas.protocol.messages.consumer_group_describe import Assignment as Described
from barnabas.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)

JOIN_EPOCH, LEAVE_EPOCH, LEAVE_STATIC_EPOCH = 0, -1, -2


class TopicIdPartition(NamedTuple):
    """A partition of a topic that is known by its id."""

    topic_id: bytes
    partition: int


class MemberSettings(NamedTuple):
    """What a member says of itself, and does not change."""

    group_id: str
    member_id: str
    topics: tuple[str, ...]
    regex: str | None
    instance_id: str | None
    remote_assignor: str | None
    rebalance_timeout_ms: int


class Heartbeats:
    """The requests of one member, and what the coordinator knows out of them."""

    def __init__(self, settings: MemberSettings) -> None:
        self._settings = settings
        self._knows: frozenset[TopicIdPartition] | None = None  # what the member reads; None: say everything

    def request(self, epoch: int, owned: frozenset[TopicIdPartition]) -> ConsumerGroupHeartbeatRequest:
        """The next one, of a member in this epoch that reads these partitions."""
        said = self._settings
        request = ConsumerGroupHeartbeatRequest(
            group_id=said.group_id, member_id=said.member_id, member_epoch=epoch, instance_id=said.instance_id
        )
        if epoch < JOIN_EPOCH:
            return request
        if epoch == JOIN_EPOCH or self._knows is None:
            request.rebalance_timeout_ms = said.rebalance_timeout_ms
            request.subscribed_topic_names = [*said.topics]
            request.subscribed_topic_regex = said.regex
            request.server_assignor = said.remote_assignor
        if epoch == JOIN_EPOCH or owned != self._knows:
            request.topic_partitions = _grouped(owned)
        return request

    def was_answered(self, owned: frozenset[TopicIdPartition]) -> None:
        """The coordinator has taken a request that said this."""
        self._knows = owned

    def was_not_answered(self) -> None:
        """It is not known what the coordinator knows."""
        self._knows = None


def assigned(answer: Assignment | Described) -> frozenset[TopicIdPartition]:
    """The partitions in an answer: of a heartbeat, or of what is told of a group."""
    return frozenset(
        TopicIdPartition(each.topic_id, partition) for each in answer.topic_partitions for partition in each.partitions
    )


def _grouped(partitions: Iterable[TopicIdPartition]) -> list[TopicPartitions]:
    topics: dict[bytes, list[int]] = {}
    for topic_id, partition in sorted(partitions):
        topics.setdefault(topic_id, []).append(partition)
    return [TopicPartitions(topic_id=topic_id, partitions=numbers) for topic_id, numbers in topics.items()]
