"""Descriptions of groups whatever their type. Share groups are those of KIP-932, streams groups those of KIP-1071."""

from __future__ import annotations

from typing import Any

from barnabas.client.addresses import Address
from barnabas.client.admin.admin_requests import no_answer, request_coordinator
from barnabas.client.admin.group_descriptions import GroupInfo, read_share_group, read_streams_group
from barnabas.client.admin.groups import describe_group
from barnabas.client.client import GROUP, Client
from barnabas.client.clock import Deadline
from barnabas.client.connections.connection import BrokerConnection
from barnabas.client.errors import raise_for
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from barnabas.protocol.messages.streams_group_describe import DescribedGroup as StreamsGroupDescription
from barnabas.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest
from barnabas.protocol.registry import ApiKey

_TOPOLOGY_SINCE = 1
_NO_SUCH_GROUP = (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION)


def describe_any_group(client: Client, group: str) -> GroupInfo:
    """Return the group of any type; KafkaError GROUP_ID_NOT_FOUND if there is none.

    Consumer and classic groups are requested first; share and streams groups only if the broker offers them.
    """
    try:
        return describe_group(client, group)
    except KafkaError as error:
        if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
            raise
        unknown = error

    def attempt(coordinator: BrokerConnection, deadline: Deadline) -> GroupInfo:
        address = client.find_coordinator(GROUP, group, deadline)
        return _newer_group(coordinator, group, deadline, address) or _refused(unknown)

    return request_coordinator(client, group, attempt)


def describe_share_group(client: Client, group: str) -> GroupInfo:
    """Return the share group; KafkaError GROUP_ID_NOT_FOUND if there is none."""
    request = ShareGroupDescribeRequest(group_ids=[group], include_authorized_operations=False)

    def attempt(coordinator: BrokerConnection, deadline: Deadline) -> GroupInfo:
        for found in coordinator.ask(request, deadline).groups:
            raise_for(found.error_code, found.error_message, f"group {group!r}")
            return read_share_group(found, client.find_coordinator(GROUP, group, deadline))
        raise no_answer(f"group {group!r}")

    return request_coordinator(client, group, attempt)


def describe_streams_group(
    client: Client, group: str, *, include_topology_description: bool = False
) -> tuple[StreamsGroupDescription, Address]:
    """Return the streams group with its topology, and its coordinator. KafkaError GROUP_ID_NOT_FOUND."""

    def attempt(coordinator: BrokerConnection, deadline: Deadline) -> tuple[StreamsGroupDescription, Address]:
        request = StreamsGroupDescribeRequest(group_ids=[group], include_authorized_operations=False)
        if coordinator.version(ApiKey.STREAMS_GROUP_DESCRIBE) >= _TOPOLOGY_SINCE:
            request.include_topology_description = include_topology_description
        for found in coordinator.ask(request, deadline).groups:
            raise_for(found.error_code, found.error_message, f"group {group!r}")
            return found, client.find_coordinator(GROUP, group, deadline)
        raise no_answer(f"group {group!r}")

    return request_coordinator(client, group, attempt)


def _newer_group(coordinator: BrokerConnection, group: str, deadline: Deadline, address: Address) -> GroupInfo | None:
    share = ShareGroupDescribeRequest(group_ids=[group], include_authorized_operations=False)
    if (found := _described(coordinator, ApiKey.SHARE_GROUP_DESCRIBE, share, group, deadline)) is not None:
        return read_share_group(found, address)
    streams = StreamsGroupDescribeRequest(group_ids=[group], include_authorized_operations=False)
    if (found := _described(coordinator, ApiKey.STREAMS_GROUP_DESCRIBE, streams, group, deadline)) is not None:
        return read_streams_group(found, address)
    return None


def _described(coordinator: BrokerConnection, api: ApiKey, request: Request, group: str, deadline: Deadline) -> Any:
    """Return the description in the response; None if there is no group of this type, or the broker has none."""
    if api not in coordinator.versions:
        return None
    for found in coordinator.ask(request, deadline).groups:
        if found.error_code in _NO_SUCH_GROUP:
            return None
        raise_for(found.error_code, found.error_message, f"group {group!r}")
        return found
    raise no_answer(f"group {group!r}")


def _refused(error: KafkaError) -> GroupInfo:
    raise error
