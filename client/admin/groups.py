"""Administration of groups: listing and describing them, deleting them and their committed offsets.

One function per operation; committed offsets are read in client/offsets.py. Each is retried until it succeeds or the
client's timeout is over, and raises KafkaError with the broker's code and message.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from barnabas.client.admin.admin_requests import no_answer, request_coordinator
from barnabas.client.admin.group_descriptions import GroupInfo, read_classic_group, read_consumer_group
from barnabas.client.client import GROUP, Client
from barnabas.client.clock import Deadline
from barnabas.client.connections.connection import BrokerConnection
from barnabas.client.errors import UnsupportedByBroker, raise_for
from barnabas.client.metadata import TopicPartition
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.protocol.messages.consumer_group_describe import DescribedGroup as DescribedConsumerGroup
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from barnabas.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from barnabas.protocol.registry import ApiKey

EMPTY, DEAD = "Empty", "Dead"  # states of a group without members, and of an unknown one
STATES = (
    *("PreparingRebalance", "CompletingRebalance", "Stable", DEAD, EMPTY),  # of classic groups
    *("Assigning", "Reconciling", "NotReady"),  # of the newer kinds
)
TYPES = ("classic", "consumer", "share", "streams")
_STATES_SINCE, _TYPES_SINCE = 4, 5
_NO_CONSUMER_GROUP = (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION)


class GroupListing(NamedTuple):
    """A group in a list. `state` and `type` are empty if the broker is too old to return them."""

    group_id: str
    state: str
    type: str
    protocol_type: str


def list_groups(client: Client, states: Iterable[str] = (), types: Iterable[str] = ()) -> list[GroupListing]:
    """Return the groups of all brokers, by id; optionally only those in one of the states and of one of the types.

    UnsupportedByBroker if a broker is too old for the filter.
    """
    deadline = client.deadline()
    request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))

    client.refresh([], deadline)
    found = [_ask_node(client, node_id, request, deadline) for node_id in client.cluster.brokers]
    return sorted(listing for listings in found for listing in listings)


def describe_group(client: Client, group: str) -> GroupInfo:
    """Return the group, classic or consumer; KafkaError GROUP_ID_NOT_FOUND if there is none.

    Like Kafka's admin client it requests a consumer group first, and if there is none, a classic one.
    """

    def attempt(coordinator: BrokerConnection, deadline: Deadline) -> GroupInfo:
        if (consumers := _ask_for_consumer_group(coordinator, group, deadline)) is not None:
            return read_consumer_group(consumers, client.find_coordinator(GROUP, group, deadline))
        for found in coordinator.ask(DescribeGroupsRequest(groups=[group]), deadline).groups:
            raise_for(found.error_code, found.error_message, f"group {group!r}")
            if found.group_state == DEAD:  # the state of an unknown group in versions up to 5
                raise_for(ErrorCode.GROUP_ID_NOT_FOUND, None, f"group {group!r}")
            return read_classic_group(found, client.find_coordinator(GROUP, group, deadline))
        raise no_answer(f"group {group!r}")

    return request_coordinator(client, group, attempt)


def _ask_for_consumer_group(
    coordinator: BrokerConnection, group: str, deadline: Deadline
) -> DescribedConsumerGroup | None:
    """Return the description of a consumer group; None if there is none of that name, or none at all."""
    if ApiKey.CONSUMER_GROUP_DESCRIBE not in coordinator.versions:
        return None
    request = ConsumerGroupDescribeRequest(group_ids=[group], include_authorized_operations=False)
    for found in coordinator.ask(request, deadline).groups:
        if found.error_code in _NO_CONSUMER_GROUP:
            return None
        raise_for(found.error_code, found.error_message, f"group {group!r}")
        described: DescribedConsumerGroup = found
        return described
    raise no_answer(f"group {group!r}")


def delete_group(client: Client, group: str) -> None:
    """Delete a group without members, and its committed offsets."""

    def attempt(coordinator: BrokerConnection, deadline: Deadline) -> None:
        for result in coordinator.ask(DeleteGroupsRequest(groups_names=[group]), deadline).results:
            return raise_for(result.error_code, None, f"group {group!r}")
        raise no_answer(f"group {group!r}")

    request_coordinator(client, group, attempt)


def delete_offsets(client: Client, group: str, partitions: Iterable[TopicPartition]) -> None:
    """Delete the committed offsets of the group for these partitions; KafkaError for the first refused one."""
    topics: dict[str, list[OffsetDeleteRequestPartition]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(OffsetDeleteRequestPartition(partition_index=partition))
    request = OffsetDeleteRequest(
        group_id=group, topics=[OffsetDeleteRequestTopic(name=name, partitions=each) for name, each in topics.items()]
    )

    def attempt(coordinator: BrokerConnection, deadline: Deadline) -> None:
        response = coordinator.ask(request, deadline)
        raise_for(response.error_code, None, f"group {group!r}")
        for topic in response.topics:
            for answer in topic.partitions:
                raise_for(answer.error_code, None, f"group {group!r}, {topic.name}-{answer.partition_index}")

    request_coordinator(client, group, attempt)


def _ask_node(client: Client, node_id: int, request: ListGroupsRequest, deadline: Deadline) -> list[GroupListing]:
    def attempt() -> list[GroupListing]:
        connection = client.node(node_id, deadline)
        _check_filters(connection.version(ApiKey.LIST_GROUPS), request)
        response: ListGroupsResponse = connection.ask(request, deadline)
        raise_for(response.error_code, None, f"groups of node {node_id}")
        return [
            GroupListing(each.group_id, each.group_state, each.group_type, each.protocol_type)
            for each in response.groups
        ]

    return client.with_retries(attempt, deadline)


def _check_filters(version: int, request: ListGroupsRequest) -> None:
    if (request.states_filter and version < _STATES_SINCE) or (request.types_filter and version < _TYPES_SINCE):
        raise UnsupportedByBroker("the broker is too old to list groups by their state or type")
