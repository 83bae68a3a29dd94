"""Administration of configs: those of topics and of brokers. One function per thing to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import NamedTuple, TypeVar

from barnabas.client.admin.asking import FINAL, no_answer
from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.connection import Connection
from barnabas.client.errors import raise_for
from barnabas.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
)
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

T = TypeVar("T")


class ResourceType(IntEnum):
    """What a config belongs to."""

    TOPIC = 2
    BROKER = 4


class ConfigSource(IntEnum):
    """Where a config's value comes from."""

    UNKNOWN = 0
    TOPIC = 1
    BROKER = 2
    CLUSTER = 3
    FILE = 4
    DEFAULT = 5


class ConfigValue(NamedTuple):
    """One config. `value` is None where it is sensitive or unset."""

    name: str
    value: str | None
    source: int
    is_read_only: bool
    is_sensitive: bool


class ConfigOperation(IntEnum):
    """What to do to a config's value."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigChange(NamedTuple):
    """One change; `value` is None for DELETE."""

    name: str
    operation: ConfigOperation
    value: str | None = None


def describe_configs(
    client: Client, resource: ResourceType, name: str, keys: Iterable[str] | None = None
) -> list[ConfigValue]:
    """The configs of a topic or of a broker (by node id), by name; all of them, or those in `keys`."""
    wanted = None if keys is None else list(keys)

    def attempt(connection: Connection, deadline: Deadline) -> list[ConfigValue]:
        asked = DescribeConfigsResource(resource_type=resource, resource_name=name, configuration_keys=wanted)
        for result in connection.ask(DescribeConfigsRequest(resources=[asked]), deadline).results:
            raise_for(result.error_code, result.error_message, f"{resource.name.lower()} {name!r}")
            return sorted(map(_read_config, result.configs))
        raise no_answer(f"{resource.name.lower()} {name!r}")

    return _ask_owner(client, resource, name, attempt)


def alter_configs(
    client: Client,
    resource: ResourceType,
    name: str,
    changes: Iterable[ConfigChange],
    *,
    validate_only: bool = False,
) -> None:
    """Change some configs of a topic or a broker (by node id; "" is the default of all); the others stay."""
    configs = [
        AlterableConfig(name=change.name, config_operation=change.operation, value=change.value) for change in changes
    ]

    def attempt(connection: Connection, deadline: Deadline) -> None:
        altered = AlterConfigsResource(resource_type=resource, resource_name=name, configs=configs)
        request = IncrementalAlterConfigsRequest(resources=[altered], validate_only=validate_only)
        for result in connection.ask(request, deadline).responses:
            return raise_for(result.error_code, result.error_message, f"{resource.name.lower()} {name!r}")
        raise no_answer(f"{resource.name.lower()} {name!r}")

    _ask_owner(client, resource, name, attempt)


def _ask_owner(client: Client, resource: ResourceType, name: str, attempt: Callable[[Connection, Deadline], T]) -> T:
    """A broker answers for its own configs; for everything else any will do."""
    deadline = client.deadline()

    def ask() -> T:
        if resource is ResourceType.BROKER and name:
            if not client.cluster.brokers:
                client.refresh([], deadline)
            if name.isdecimal() and int(name) in client.cluster.brokers:
                return attempt(client.node(int(name), deadline), deadline)
        return attempt(client.controller(deadline), deadline)

    return client.with_retries(ask, deadline, final=FINAL)


def _read_config(result: DescribeConfigsResourceResult) -> ConfigValue:
    return ConfigValue(result.name, result.value, result.config_source, result.read_only, result.is_sensitive)
