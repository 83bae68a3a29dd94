"""Administration of configs: of topics, brokers and other resources. One function per operation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import NamedTuple, TypeVar

from barnabas.client.admin.admin_requests import FINAL, no_answer
from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.connections.connection import BrokerConnection
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
from barnabas.protocol.messages.list_config_resources import ListConfigResourcesRequest

T = TypeVar("T")


class ResourceType(IntEnum):
    """The type of the resource that has a config."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigSource(IntEnum):
    """The source of a config's value."""

    UNKNOWN = 0
    TOPIC = 1
    BROKER = 2
    CLUSTER = 3
    FILE = 4
    DEFAULT = 5
    BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


class ConfigSynonym(NamedTuple):
    """Another source of a config's value, used if no source before it has one."""

    name: str
    value: str | None
    source: int


class ConfigValue(NamedTuple):
    """One config. `value` is None if it is sensitive or unset. `synonyms` are present if they were requested."""

    name: str
    value: str | None
    source: int
    is_read_only: bool
    is_sensitive: bool
    synonyms: tuple[ConfigSynonym, ...] = ()


class ConfigOperation(IntEnum):
    """The operation on a config's value."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigChange(NamedTuple):
    """One change; `value` is None for DELETE."""

    name: str
    operation: ConfigOperation
    value: str | None = None


def list_resources(client: Client, resource: ResourceType) -> list[str]:
    """Return the names of the resources of a type that have configs, sorted.

    UnsupportedByBroker from Kafka before 4.1, which lists client metrics only, by a request without a type.
    """
    types: list[int] = [] if resource is ResourceType.CLIENT_METRICS else [resource]
    answer = client.ask_any(ListConfigResourcesRequest(resource_types=types))
    raise_for(answer.error_code, None, f"resources of type {resource.name.lower()}")
    return sorted(each.resource_name for each in answer.config_resources if each.resource_type == resource)


def describe_configs(
    client: Client,
    resource: ResourceType,
    name: str,
    keys: Iterable[str] | None = None,
    *,
    include_synonyms: bool = False,
) -> list[ConfigValue]:
    """Return the configs of a resource (a broker by node id), by name; all of them, or those in `keys`."""
    wanted = None if keys is None else list(keys)

    def attempt(connection: BrokerConnection, deadline: Deadline) -> list[ConfigValue]:
        requested = DescribeConfigsResource(resource_type=resource, resource_name=name, configuration_keys=wanted)
        request = DescribeConfigsRequest(resources=[requested], include_synonyms=include_synonyms)
        for result in connection.ask(request, deadline).results:
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
    """Change some configs of a resource (a broker by node id; "" is the default of all); others stay."""
    configs = [
        AlterableConfig(name=change.name, config_operation=change.operation, value=change.value) for change in changes
    ]

    def attempt(connection: BrokerConnection, deadline: Deadline) -> None:
        altered = AlterConfigsResource(resource_type=resource, resource_name=name, configs=configs)
        request = IncrementalAlterConfigsRequest(resources=[altered], validate_only=validate_only)
        for result in connection.ask(request, deadline).responses:
            return raise_for(result.error_code, result.error_message, f"{resource.name.lower()} {name!r}")
        raise no_answer(f"{resource.name.lower()} {name!r}")

    _ask_owner(client, resource, name, attempt)


def _ask_owner(
    client: Client, resource: ResourceType, name: str, attempt: Callable[[BrokerConnection, Deadline], T]
) -> T:
    """Run `attempt` on the broker whose own configs these are, or on the controller for all other resources."""
    deadline = client.deadline()

    def ask() -> T:
        if resource in (ResourceType.BROKER, ResourceType.BROKER_LOGGER) and name:
            if not client.cluster.brokers:
                client.refresh([], deadline)
            if name.isdecimal() and int(name) in client.cluster.brokers:
                return attempt(client.node(int(name), deadline), deadline)
        return attempt(client.controller(deadline), deadline)

    return client.with_retries(ask, deadline, final=FINAL)


def _read_config(result: DescribeConfigsResourceResult) -> ConfigValue:
    synonyms = tuple(ConfigSynonym(each.name, each.value, each.source) for each in result.synonyms)
    return ConfigValue(result.name, result.value, result.config_source, result.read_only, result.is_sensitive, synonyms)
