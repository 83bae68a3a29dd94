"""Requests that are not told of, nor kept, unless somebody follows all requests: there would be nothing but them."""

from __future__ import annotations

from typing import Final

from barnabas.protocol.registry import ApiKey

_QUIET: Final = {
    each.api_name
    for each in (
        ApiKey.API_VERSIONS,
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        ApiKey.DESCRIBE_CLUSTER,
        ApiKey.DESCRIBE_CONFIGS,
        ApiKey.DESCRIBE_GROUPS,
        ApiKey.DESCRIBE_LOG_DIRS,
        ApiKey.DESCRIBE_PRODUCERS,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        ApiKey.DESCRIBE_TRANSACTIONS,
        ApiKey.FETCH,
        ApiKey.FIND_COORDINATOR,
        ApiKey.GET_TELEMETRY_SUBSCRIPTIONS,
        ApiKey.HEARTBEAT,
        ApiKey.LIST_GROUPS,
        ApiKey.LIST_OFFSETS,
        ApiKey.LIST_TRANSACTIONS,
        ApiKey.METADATA,
        ApiKey.OFFSET_FETCH,
        ApiKey.OFFSET_FOR_LEADER_EPOCH,
        ApiKey.PRODUCE,
        ApiKey.PUSH_TELEMETRY,
    )
}
"""Those that carry data, those that change nothing, and those that clients send all the time."""


def is_quiet(api: str, error: object) -> bool:
    """Whether the answer to such a request is told only to who follows all requests. An error is told, where known."""
    return error is None and api in _QUIET
