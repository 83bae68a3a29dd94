"""Where share groups start (KIP-932): reading, changing and deleting it. The record state before an offset is lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.client.admin.admin_requests import no_answer, request_coordinator
from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.connections.connection import BrokerConnection
from barnabas.client.errors import raise_for
from barnabas.client.metadata import TopicPartition
from barnabas.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from barnabas.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from barnabas.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)

_UNKNOWN = -1


class ShareOffset(NamedTuple):
    """Where a group starts in a partition. None: it has finished nothing yet, or the broker does not return the lag.

    start_offset: as it was stored last, so that it may be behind. lag: the records that are not finished.
    """

    start_offset: int | None
    lag: int | None
    leader_epoch: int | None = None


def share_offsets(client: Client, group: str) -> dict[TopicPartition, ShareOffset]:
    """Return the offsets of all partitions that the group has begun."""
    wanted = DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=None)
    request = DescribeShareGroupOffsetsRequest(groups=[wanted])

    def attempt(coordinator: BrokerConnection, deadline: Deadline) -> dict[TopicPartition, ShareOffset]:
        for found in coordinator.ask(request, deadline).groups:
            raise_for(found.error_code, found.error_message, f"group {group!r}")
            offsets: dict[TopicPartition, ShareOffset] = {}
            for topic in found.topics:
                for each in topic.partitions:
                    where = topic.topic_name, each.partition_index
                    raise_for(each.error_code, each.error_message, f"group {group!r}, {where[0]}-{where[1]}")
                    offsets[where] = ShareOffset(_known(each.start_offset), _known(each.lag), _known(each.leader_epoch))
            return offsets
        raise no_answer(f"group {group!r}")

    return request_coordinator(client, group, attempt)


def alter_share_offsets(client: Client, group: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Let the group, which has no members, start at these offsets; KafkaError for the first refused one."""
    topics: dict[str, list[AlterShareGroupOffsetsRequestPartition]] = {}
    for (topic, partition), offset in offsets.items():
        topics.setdefault(topic, []).append(
            AlterShareGroupOffsetsRequestPartition(partition_index=partition, start_offset=offset)
        )
    request = AlterShareGroupOffsetsRequest(
        group_id=group,
        topics=[AlterShareGroupOffsetsRequestTopic(topic_name=name, partitions=each) for name, each in topics.items()],
    )

    def attempt(coordinator: BrokerConnection, deadline: Deadline) -> None:
        response = coordinator.ask(request, deadline)
        raise_for(response.error_code, response.error_message, f"group {group!r}")
        for topic in response.responses:
            for each in topic.partitions:
                where = f"group {group!r}, {topic.topic_name}-{each.partition_index}"
                raise_for(each.error_code, each.error_message, where)

    request_coordinator(client, group, attempt)


def delete_share_offsets(client: Client, group: str, topics: Iterable[str]) -> None:
    """Delete what the group, which has no members, knows of these topics; KafkaError for the first refused one."""
    names = [DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in topics]
    request = DeleteShareGroupOffsetsRequest(group_id=group, topics=names)

    def attempt(coordinator: BrokerConnection, deadline: Deadline) -> None:
        response = coordinator.ask(request, deadline)
        raise_for(response.error_code, response.error_message, f"group {group!r}")
        for topic in response.responses:
            raise_for(topic.error_code, topic.error_message, f"group {group!r}, topic {topic.topic_name!r}")

    request_coordinator(client, group, attempt)


def _known(value: int) -> int | None:
    return None if value == _UNKNOWN else value
