"""Administration of client quotas: listing them, and changing those of one entity. One function per operation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.client.admin.admin_requests import request_controller
from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.connections.connection import BrokerConnection
from barnabas.client.errors import raise_for
from barnabas.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from barnabas.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest

Entity = Mapping[str, str | None]
"""The entity of a quota: names by type (user, client-id, ip); None is the default."""


class EntityQuotas(NamedTuple):
    """The quotas of an entity."""

    entity: Entity
    quotas: Mapping[str, float]


def describe_quotas(client: Client) -> list[EntityQuotas]:
    """Return all quotas that are set. KafkaError."""

    def attempt(connection: BrokerConnection, deadline: Deadline) -> list[EntityQuotas]:
        answer = connection.ask(DescribeClientQuotasRequest(components=[], strict=False), deadline)
        raise_for(answer.error_code, answer.error_message, "quotas")
        return [
            EntityQuotas(
                {part.entity_type: part.entity_name for part in entry.entity},
                {value.key: value.value for value in entry.values},
            )
            for entry in answer.entries or ()
        ]

    return request_controller(client, attempt)


def alter_quotas(
    client: Client, entity: Entity, changes: Mapping[str, float | None], *, validate_only: bool = False
) -> None:
    """Set some quotas of an entity, and remove those that are None; the others stay. KafkaError."""
    entry = AlterClientQuotasRequestEntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
        ops=[OpData(key=key, value=value or 0.0, remove=value is None) for key, value in changes.items()],
    )

    def attempt(connection: BrokerConnection, deadline: Deadline) -> None:
        answer = connection.ask(AlterClientQuotasRequest(entries=[entry], validate_only=validate_only), deadline)
        for result in answer.entries:
            raise_for(result.error_code, result.error_message, "quotas")

    request_controller(client, attempt)
