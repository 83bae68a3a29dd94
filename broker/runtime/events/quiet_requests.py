"""Requests that are neither reported nor stored unless a listener follows all requests: they would hide all others."""

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
"""The requests that carry data, that change nothing, or that clients send all the time."""


def is_quiet(api: str, error: object) -> bool:
    """Return whether an answer, if it is no error, is reported only to listeners of all requests."""
    return error is None and api in _QUIET
