"""Administration: topics, partitions, configs, and deleting records. One function per thing to do.

Each asks until it is done or the client's timeout is over, and raises KafkaError with the broker's code and words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple, TypeVar

from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.connection import Connection
from barnabas.client.errors import raise_for
from barnabas.client.metadata import ClusterInfo, TopicInfo, TopicPartition
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from barnabas.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
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
from barnabas.protocol.primitives import ZERO_UUID
from barnabas.protocol.registry import ApiKey

T = TypeVar("T")

# Who administers a topic that is not there is told so; nobody is about to create it.
_FINAL = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})


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


def list_topics(client: Client) -> list[TopicInfo]:
    """Every topic, by name, internal ones too."""
    found = client.refresh(None, client.deadline())
    return sorted(found.topics.values())


def describe_topics(client: Client, names: Iterable[str]) -> list[TopicInfo]:
    """The named topics, in that order; KafkaError for the first that is not there. Creates nothing."""
    wanted = list(names)
    found: ClusterInfo = client.refresh(wanted, client.deadline())
    return [found.topic(name) for name in wanted]


def create_topic(
    client: Client,
    name: str,
    *,
    partitions: int = -1,
    replication_factor: int = -1,
    configs: Mapping[str, str] | None = None,
    validate_only: bool = False,
) -> bytes:
    """Create a topic; its id (zeros where the broker does not tell). -1 leaves a number to the broker."""

    def attempt(connection: Connection, deadline: Deadline) -> bytes:
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=replication_factor,
            assignments=[],
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()],
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=deadline.left_ms, validate_only=validate_only)
        for result in connection.ask(request, deadline).topics:
            raise_for(result.error_code, result.error_message, f"topic {name!r}")
            return bytes(result.topic_id)
        raise _no_answer(f"topic {name!r}")

    topic_id = _ask_controller(client, attempt)
    client.forget([name])
    return topic_id


def delete_topic(client: Client, name: str) -> None:
    """Delete a topic with everything in it."""

    def attempt(connection: Connection, deadline: Deadline) -> None:
        request = DeleteTopicsRequest(topic_names=[name], timeout_ms=deadline.left_ms)
        if connection.version(ApiKey.DELETE_TOPICS) >= 6:
            request.topics = [DeleteTopicState(name=name, topic_id=ZERO_UUID)]
        for result in connection.ask(request, deadline).responses:
            return raise_for(result.error_code, result.error_message, f"topic {name!r}")
        raise _no_answer(f"topic {name!r}")

    _ask_controller(client, attempt)
    client.forget([name])


def create_partitions(client: Client, name: str, total: int, *, validate_only: bool = False) -> None:
    """Raise a topic's number of partitions to `total`."""

    def attempt(connection: Connection, deadline: Deadline) -> None:
        topic = CreatePartitionsTopic(name=name, count=total, assignments=None)
        request = CreatePartitionsRequest(topics=[topic], timeout_ms=deadline.left_ms, validate_only=validate_only)
        for result in connection.ask(request, deadline).results:
            return raise_for(result.error_code, result.error_message, f"topic {name!r}")
        raise _no_answer(f"topic {name!r}")

    _ask_controller(client, attempt)
    client.forget([name])


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
        raise _no_answer(f"{resource.name.lower()} {name!r}")

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
        raise _no_answer(f"{resource.name.lower()} {name!r}")

    _ask_owner(client, resource, name, attempt)


def delete_records(client: Client, before: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Delete everything below an offset in each partition (-1: all there is); the new first offsets."""
    deadline = client.deadline()
    done: dict[TopicPartition, int] = {}

    def attempt() -> None:
        by_leader: dict[int, dict[str, list[DeleteRecordsPartition]]] = {}
        for (topic, partition), offset in before.items():
            if (topic, partition) not in done:
                topics = by_leader.setdefault(client.leader(topic, partition, deadline), {})
                topics.setdefault(topic, []).append(DeleteRecordsPartition(partition_index=partition, offset=offset))
        for leader, topics in by_leader.items():
            request = DeleteRecordsRequest(
                topics=[DeleteRecordsTopic(name=name, partitions=each) for name, each in topics.items()],
                timeout_ms=deadline.left_ms,
            )
            for answered in client.node(leader, deadline).ask(request, deadline).topics:
                for result in answered.partitions:
                    raise_for(result.error_code, None, f"{answered.name}-{result.partition_index}")
                    done[answered.name, result.partition_index] = result.low_watermark

    client.with_retries(attempt, deadline, lambda error: client.forget({topic for topic, _ in before}))
    return done


def _ask_controller(client: Client, attempt: Callable[[Connection, Deadline], T]) -> T:
    deadline = client.deadline()
    return client.with_retries(lambda: attempt(client.controller(deadline), deadline), deadline, final=_FINAL)


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

    return client.with_retries(ask, deadline, final=_FINAL)


def _read_config(result: DescribeConfigsResourceResult) -> ConfigValue:
    return ConfigValue(result.name, result.value, result.config_source, result.read_only, result.is_sensitive)


def _no_answer(where: str) -> KafkaError:
    return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{where} is missing from the answer")
