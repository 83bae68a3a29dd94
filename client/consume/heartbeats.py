"""The content of a ConsumerGroupHeartbeat (KIP-848). Pure: it sends nothing.

A member sends everything when it joins, and then only the changes since the coordinator's last response. After a
request whose response is unknown, or was an error, it sends everything again.
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
    """A partition of a topic identified by its id."""

    topic_id: bytes
    partition: int


class MemberSettings(NamedTuple):
    """The constant properties of a member in its requests."""

    group_id: str
    member_id: str
    topics: tuple[str, ...]
    regex: str | None
    instance_id: str | None
    remote_assignor: str | None
    rebalance_timeout_ms: int


class Heartbeats:
    """The requests of one member, and the state that the coordinator knows from them."""

    def __init__(self, settings: MemberSettings) -> None:
        self._settings = settings
        self._knows: frozenset[TopicIdPartition] | None = None  # the member's partitions; None: send everything

    def request(self, epoch: int, owned: frozenset[TopicIdPartition]) -> ConsumerGroupHeartbeatRequest:
        """Return the next request of a member in this epoch that reads these partitions."""
        settings = self._settings
        request = ConsumerGroupHeartbeatRequest(
            group_id=settings.group_id,
            member_id=settings.member_id,
            member_epoch=epoch,
            instance_id=settings.instance_id,
        )
        if epoch < JOIN_EPOCH:
            return request
        if epoch == JOIN_EPOCH or self._knows is None:
            request.rebalance_timeout_ms = settings.rebalance_timeout_ms
            request.subscribed_topic_names = [*settings.topics]
            request.subscribed_topic_regex = settings.regex
            request.server_assignor = settings.remote_assignor
        if epoch == JOIN_EPOCH or owned != self._knows:
            request.topic_partitions = _grouped(owned)
        return request

    def was_answered(self, owned: frozenset[TopicIdPartition]) -> None:
        """Note that the coordinator has accepted a request with these partitions."""
        self._knows = owned

    def was_not_answered(self) -> None:
        """Note that the coordinator's state is unknown."""
        self._knows = None


def assigned(answer: Assignment | Described) -> frozenset[TopicIdPartition]:
    """Return the partitions in a response: of a heartbeat, or in a group's description."""
    return frozenset(
        TopicIdPartition(each.topic_id, partition) for each in answer.topic_partitions for partition in each.partitions
    )


def _grouped(partitions: Iterable[TopicIdPartition]) -> list[TopicPartitions]:
    topics: dict[bytes, list[int]] = {}
    for topic_id, partition in sorted(partitions):
        topics.setdefault(topic_id, []).append(partition)
    return [TopicPartitions(topic_id=topic_id, partitions=numbers) for topic_id, numbers in topics.items()]
