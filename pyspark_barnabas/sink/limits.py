"""How long the broker lets a transaction be open, asked for when it refused ours."""

from __future__ import annotations

from barnabas.client.admin.configs import ResourceType, describe_configs
from barnabas.client.client import Client
from barnabas.protocol.errors import ErrorCode, KafkaError
from pyspark_barnabas.commit.refusals import QuerySettings, refuse
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import SinkSettings

_KEY = "transaction.max.timeout.ms"


def broker_max_timeout_ms(client: Client) -> int | None:
    """The brokers' transaction.max.timeout.ms; None where they do not tell."""
    if not client.cluster.brokers:
        client.refresh([], client.deadline())
    try:
        for node_id in client.cluster.brokers:
            for each in describe_configs(client, ResourceType.BROKER, str(node_id), [_KEY]):
                if each.name == _KEY and each.value:
                    return int(each.value)
    except KafkaError:
        return None  # not allowed to ask: the refusal itself is reported
    return None


def check_timeout(client: Client, settings: SinkSettings, error: KafkaError) -> None:
    """Where `error` is about the timeout, SinkFailed with both numbers."""
    if error.code is ErrorCode.INVALID_TRANSACTION_TIMEOUT:
        limit_ms = broker_max_timeout_ms(client)
        asked_ms = settings.transaction_timeout_ms
        refusals = refuse(QuerySettings("-", transaction_timeout_ms=asked_ms, broker_max_timeout_ms=limit_ms))
        if refusals:
            raise SinkFailed(refusals[0]) from error
