"""DescribeConfigs (key 32), v1-4: the settings of topics and of the broker, and where their values come from.

A topic: every key with the value in force. A broker by its id: every key of Apache Kafka, with or without effect here;
the broker resource with an empty name: only the values set dynamically for all brokers; a broker's loggers: their
levels. A group, or a subscription to client metrics: every key, whether it exists or not. Sensitive values are null.
Answers per resource: UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION, INVALID_REQUEST (another broker, or no name).
If one has an unknown type, the whole request is refused with INVALID_REQUEST. Versions: 3 types and documentation.
"""

from asyncio import Future
from collections.abc import Iterable, Iterator
from itertools import dropwhile
from typing import Protocol

from barnabas.broker.config.broker_config import BrokerConfig, Synonym, ValueSource, find_key
from barnabas.broker.config.definitions.keys import KEYS, OF_AUTHORIZER, Key, Update
from barnabas.broker.config.definitions.values import ValueType, text_of
from barnabas.broker.config.node_settings import HTTP_ADDRESS, config_of_node
from barnabas.broker.config.resources.topic_configs import TOPIC_KEYS, effective, synonyms
from barnabas.broker.metadata.catalogue.config_alterations import CLUSTER_DEFAULT, broker_number
from barnabas.broker.metadata.config_resources.loggers import levels
from barnabas.broker.metadata.image.image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    LOGGER_RESOURCE,
    TOPIC_RESOURCE,
)
from barnabas.broker.metadata.image.topic_changes import check_name
from barnabas.broker.runtime.scheduler import WorkClass
from barnabas.broker.services import RequestContext, Services
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from barnabas.storage.steps import Steps

_UNKNOWN_TYPE = 0
_KINDS = {TOPIC_RESOURCE, BROKER_RESOURCE, LOGGER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE}
_ENTRIES_MAX = 400_000  # all settings of ten thousand topics: 40 MB of answer, and some 300 while it is made
_SETTINGS = WorkClass(steps_max=10_000)
_OWN = (ValueSource.TOPIC, ValueSource.CLIENT_METRICS, ValueSource.GROUP)
_TOO_MUCH = f"The request asks for more than {_ENTRIES_MAX} settings at once."


class Described(Protocol):
    """The properties of a key of any resource."""

    @property
    def name(self) -> str: ...

    @property
    def type(self) -> ValueType: ...


def handle(
    request: DescribeConfigsRequest, context: RequestContext
) -> DescribeConfigsResponse | Future[DescribeConfigsResponse]:
    return context.services.request_scheduler.in_slices(lambda: _described_all(request, context.services), _SETTINGS)


def _described_all(request: DescribeConfigsRequest, services: Services) -> Steps[DescribeConfigsResponse]:
    strange = {resource.resource_type for resource in request.resources} - _KINDS
    if strange:
        message = f"There are no resources of type {min(strange)}."
        refused = [_result(resource, [], ErrorCode.INVALID_REQUEST, message) for resource in request.resources]
        return DescribeConfigsResponse(results=refused)
    # A resource named a thousand times is answered a thousand times, but looked up and stored once.
    found: dict[tuple[int, str, tuple[str, ...] | None], DescribeConfigsResult] = {}
    results = []
    left = _ENTRIES_MAX
    for resource in request.resources:
        yield
        if left < 0:
            results.append(_result(resource, [], ErrorCode.INVALID_REQUEST, _TOO_MUCH))
            continue
        names = None if resource.configuration_keys is None else tuple(resource.configuration_keys)
        same = (resource.resource_type, resource.resource_name, names)
        if same not in found:
            found[same] = _described(resource, request, services)
        results.append(found[same])
        left -= len(found[same].configs)
    return DescribeConfigsResponse(results=results)


def _described(
    resource: DescribeConfigsResource, request: DescribeConfigsRequest, services: Services
) -> DescribeConfigsResult:
    entries = []
    try:
        for entry in _wanted(resource, _describe(resource, services)):
            if not request.include_synonyms:
                entry.synonyms = []
            if resource.resource_type != LOGGER_RESOURCE:  # Kafka has no documentation of these
                entry.documentation = _documentation(entry.name) if request.include_documentation else None
            entries.append(entry)
    except KafkaError as refusal:
        return _result(resource, [], refusal.code, refusal.message)
    return _result(resource, entries, ErrorCode.NONE, "")


def _wanted(
    resource: DescribeConfigsResource, entries: Iterable[DescribeConfigsResourceResult]
) -> Iterator[DescribeConfigsResourceResult]:
    names = set(resource.configuration_keys or ())
    return (entry for entry in entries if not names or entry.name in names)


def _describe(resource: DescribeConfigsResource, services: Services) -> Iterator[DescribeConfigsResourceResult]:
    name = resource.resource_name
    if resource.resource_type == TOPIC_RESOURCE:
        check_name(name)
        if name not in services.catalogue.topics:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")
        return _topic_entries(services, name)
    if resource.resource_type == LOGGER_RESOURCE:
        _check_broker(name, services.node.node_id)
        return _logger_entries()
    if resource.resource_type == GROUP_RESOURCE:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
        return _group_entries(services, name)
    if resource.resource_type == CLIENT_METRICS_RESOURCE:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty")
        return _client_metrics_entries(services, name)
    if name == CLUSTER_DEFAULT:
        return _cluster_entries(services)
    _check_broker(name, services.node.node_id, " or empty string,")
    return _broker_entries(services)


def _check_broker(name: str, node_id: int, else_expected: str = "") -> None:
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
    if broker_number(name, "Broker id") != node_id:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected broker id, expected {node_id}{else_expected} but received {name}",
        )


def _group_entries(services: Services, group_id: str) -> Iterator[DescribeConfigsResourceResult]:
    from barnabas.broker.config.resources import group_configs  # tables that few brokers need

    own = services.catalogue.configs_of(GROUP_RESOURCE, group_id)
    for key in group_configs.described(own):
        found = group_configs.synonyms(own, services.config, key)
        yield _entry(key, text_of(group_configs.effective(own, services.config, key)), found)


def _client_metrics_entries(services: Services, name: str) -> Iterator[DescribeConfigsResourceResult]:
    from barnabas.broker.config.resources import client_metrics  # a table that few brokers need

    own = services.catalogue.configs_of(CLIENT_METRICS_RESOURCE, name)
    for key in client_metrics.CLIENT_METRICS_KEYS.values():
        yield _entry(key, text_of(client_metrics.effective(own, key)), client_metrics.synonyms(own, key))


def _logger_entries() -> Iterator[DescribeConfigsResourceResult]:
    for name, level in levels().items():
        yield DescribeConfigsResourceResult(
            name=name,
            value=level,
            read_only=False,
            config_source=ValueSource.DYNAMIC_BROKER_LOGGER,
            is_sensitive=False,
            synonyms=[],
        )


def _topic_entries(services: Services, topic: str) -> Iterator[DescribeConfigsResourceResult]:
    own = dict(services.catalogue.topics[topic].configs)
    for key in TOPIC_KEYS.values():
        found = _listed(synonyms(own, services.config, key.name), key.inherits)
        yield _entry(key, text_of(effective(own, services.config, key.name)), found)


def _broker_entries(services: Services) -> Iterator[DescribeConfigsResourceResult]:
    from barnabas.broker.config.definitions import ignored_keys  # long tables that nothing else needs

    config = _own_config(services)
    for key in sorted((*KEYS.values(), *ignored_keys.ACCEPTED.values())):
        if key in OF_AUTHORIZER:
            continue
        found = _listed(config.synonyms(key.name), key.name)
        if key.name in ignored_keys.INTERNAL and all(each.source is ValueSource.DEFAULT for each in found):
            continue
        yield _entry(key, text_of(config.value(key.name)), found)
    for key in OF_AUTHORIZER:  # the authorizer is a plug-in of Kafka's broker, which does not know these keys
        if key.name in config.static:
            yield _unknown_entry(key.name, [Synonym(key.name, config.static[key.name], ValueSource.STATIC_BROKER)])
    for key in [HTTP_ADDRESS] if HTTP_ADDRESS.name in config.static else ():
        yield _entry(
            key, config.static[key.name], [Synonym(key.name, config.static[key.name], ValueSource.STATIC_BROKER)]
        )
    for name, key in ignored_keys.THROTTLED_RATES.items():
        set_ones = [each for each in config.synonyms(name) if each.source is not ValueSource.DEFAULT]
        if set_ones:
            yield _entry(key, set_ones[0].value, set_ones)


def _own_config(services: Services) -> BrokerConfig:
    """Return the settings as this node reports them, which may be one of several."""
    nodes = services.cluster.brokers
    if len(nodes) == 1:
        return services.config
    node_id = services.node.node_id
    made = services.catalogue.configs_of(BROKER_RESOURCE, str(node_id))
    return config_of_node(services.config, nodes.index(node_id), len(nodes), made)


def _listed(found: list[Synonym], name: str | None) -> list[Synonym]:
    """Return the synonyms that Kafka lists: a topic's own value, then all from the first one under `name` itself."""
    own = [each for each in found if each.source is ValueSource.TOPIC]
    return [*own, *dropwhile(lambda each: each.name != name, found[len(own) :])]


def _cluster_entries(services: Services) -> Iterator[DescribeConfigsResourceResult]:
    for name, text in services.catalogue.configs_of(BROKER_RESOURCE, CLUSTER_DEFAULT).items():
        key, found = find_key(name), [Synonym(name, text, ValueSource.DYNAMIC_DEFAULT_BROKER)]
        if key is not None:
            yield _entry(key, text, found)
        else:
            yield _unknown_entry(name, found)


def _entry(key: Described, value: str | None, found: list[Synonym]) -> DescribeConfigsResourceResult:
    is_sensitive = isinstance(key, Key) and key.is_sensitive
    if found and found[0].source in _OWN:
        found = [found[0]._replace(value=value), *found[1:]]  # as it is read: lists without spaces
    return DescribeConfigsResourceResult(
        name=key.name,
        value=None if is_sensitive else value,
        read_only=isinstance(key, Key) and key.update is Update.READ_ONLY,
        config_source=found[0].source if found else ValueSource.DEFAULT,
        is_sensitive=is_sensitive,
        synonyms=[_synonym(each, is_sensitive) for each in found],
        config_type=key.type,
    )


def _unknown_entry(name: str, found: list[Synonym]) -> DescribeConfigsResourceResult:
    """Return the entry of a setting with an unknown key: its value might be a secret."""
    return DescribeConfigsResourceResult(
        name=name,
        value=None,
        read_only=True,
        config_source=found[0].source,
        is_sensitive=True,
        synonyms=[_synonym(each, True) for each in found],
        config_type=_UNKNOWN_TYPE,
    )


def _synonym(synonym: Synonym, is_sensitive: bool) -> DescribeConfigsSynonym:
    value = None if is_sensitive else synonym.value
    return DescribeConfigsSynonym(name=synonym.name, value=value, source=synonym.source)


def _documentation(name: str) -> str | None:
    from barnabas.broker.config.reference.descriptions import documentation  # texts that only this function needs

    return documentation(name)


def _result(
    resource: DescribeConfigsResource,
    entries: list[DescribeConfigsResourceResult],
    code: ErrorCode,
    message: str | None,
) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=code,
        error_message=message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=entries,
    )
