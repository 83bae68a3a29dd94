"""How long a transaction may stay open: as long as the brokers allow, unless the option sets another value.

Brokers report their transaction.max.timeout.ms to clients that may describe them. From others they only refuse too high
a value: then Kafka's default is tried, and half as long after each refusal. The result is cached by this process, for
each cluster. A configured timeout that is not allowed is an error and never lowered.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from barnabas.client.admin.configs import ResourceType, describe_configs
from barnabas.client.client import Client
from barnabas.protocol.errors import ErrorCode, KafkaError
from pyspark_barnabas.commit.refusals import QuerySettings, refuse
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import TRANSACTION_TIMEOUT_MS, SinkSettings

T = TypeVar("T")

_KEY = "transaction.max.timeout.ms"
_SHORTEST_MS = 1_000
_allowed: dict[tuple[int, str], int] = {}


def broker_max_timeout_ms(client: Client) -> int | None:
    """Return the brokers' transaction.max.timeout.ms; None if they do not report it."""
    if not client.cluster.brokers:
        client.refresh([], client.deadline())
    try:
        for node_id in client.cluster.brokers:
            for each in describe_configs(client, ResourceType.BROKER, str(node_id), [_KEY]):
                if each.name == _KEY and each.value:
                    return int(each.value)
    except KafkaError:
        return None  # not authorized: the refusal itself is reported
    return None


def with_timeout(
    client: Client, settings: SinkSettings, begin: Callable[[int], T], *, at_most_ms: int | None = None
) -> T:
    """Call `begin` with the transaction timeout, and again with a shorter one if the broker refuses it.

    at_most_ms: enough for this transaction, so that no longer one is requested.
    Raise SinkFailed, with both numbers, if the option's own value is refused.
    """
    requested_ms = settings.transaction_timeout_ms
    if requested_ms is not None:
        try:
            return begin(requested_ms if at_most_ms is None else min(requested_ms, at_most_ms))
        except KafkaError as error:
            _refuse(client, requested_ms, error)
            raise
    key = os.getpid(), settings.connection.bootstrap_servers
    timeout_ms = at_most_ms if at_most_ms is not None else _allowed.get(key)
    if timeout_ms is None:
        timeout_ms = broker_max_timeout_ms(client) or TRANSACTION_TIMEOUT_MS
    while True:
        try:
            begun = begin(timeout_ms)
        except KafkaError as error:
            if error.code is not ErrorCode.INVALID_TRANSACTION_TIMEOUT or timeout_ms <= _SHORTEST_MS:
                raise
            timeout_ms = max(_SHORTEST_MS, timeout_ms // 2)
        else:
            if at_most_ms is None:
                _allowed[key] = timeout_ms
            return begun


def _refuse(client: Client, requested_ms: int, error: KafkaError) -> None:
    """Raise SinkFailed with both numbers if `error` is about the timeout."""
    if error.code is ErrorCode.INVALID_TRANSACTION_TIMEOUT:
        limit_ms = broker_max_timeout_ms(client)
        refusals = refuse(QuerySettings("-", transaction_timeout_ms=requested_ms, broker_max_timeout_ms=limit_ms))
        if refusals:
            raise SinkFailed(refusals[0]) from error
