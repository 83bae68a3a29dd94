"""How settings are changed: pure decisions for IncrementalAlterConfigs and AlterConfigs, for topics and broker.

Knows Kafka's rules, error codes and messages for them; writes nothing and changes nothing. A setting is stored as it
was written (docs/formats/catalogue.md), and `barnabas.broker.config` determines its meaning.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from barnabas.broker.config import BrokerConfig
from barnabas.broker.config.broker_config import find_key, parse_value
from barnabas.broker.config.definitions.keys import KEYS, Key, Update
from barnabas.broker.config.definitions.values import InvalidValue, ValueType
from barnabas.broker.config.listeners.listener_keys import ONLY_OF_A_LISTENER
from barnabas.broker.config.refused_keys import asks_for
from barnabas.broker.config.resources.topic_configs import TOPIC_KEYS, TopicKey, validate
from barnabas.broker.metadata.image.framing import Versioned
from barnabas.broker.metadata.image.image import BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, TOPIC_RESOURCE, Image
from barnabas.broker.metadata.image.topic_changes import Writer, check_name
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.log_records.catalogue import ConfigRecord

_NODE_ID = re.compile("([-+]?)0*([0-9]{1,10})")  # the text of a Java int; there may be many leading zeros
_INT32_MIN, _INT32_MAX = -(1 << 31), (1 << 31) - 1
_LENGTH_MAX = 0x7FFF
CLUSTER_DEFAULT = ""  # the name of the broker resource that represents every broker


class AlterConfigOp(IntEnum):
    """The operation on the value of a key."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Alteration(NamedTuple):
    """One operation on one key. `operation` may be a number that Kafka does not know."""

    name: str
    operation: int
    value: str | None


class SettingsWish(NamedTuple):
    """A requested change of the settings of a topic (2), the broker (4), client metrics (16) or a group (32).

    wanted: operations on some of the settings, or the complete new settings.
    """

    resource_type: int
    name: str
    wanted: Sequence[Alteration] | Mapping[str, str | None]


def settings_records(wish: SettingsWish, writer: Writer, config: BrokerConfig) -> list[Versioned]:
    """Return the records of a change of settings. Raise KafkaError with Kafka's code if it is not allowed."""
    kind, name, wanted = wish
    if isinstance(wanted, Mapping):
        if kind == TOPIC_RESOURCE:
            return _replace_topic(name, wanted, writer, config)
        if kind == BROKER_RESOURCE:
            return _replace_broker(name, wanted, writer, config)
        return _replace_other(kind, name, wanted, writer, config)
    if kind == TOPIC_RESOURCE:
        return _alter_topic(name, wanted, writer, config)
    if kind == BROKER_RESOURCE:
        return _alter_broker(name, wanted, writer, config)
    return _alter_other(kind, name, wanted, writer, config)


def check_alterations(alterations: Sequence[Alteration]) -> None:
    """Raise KafkaError INVALID_REQUEST if a key is named twice, or has a null value without being deleted."""
    if len({alteration.name for alteration in alterations}) != len(alterations):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    nulls = [a.name for a in alterations if a.operation != AlterConfigOp.DELETE and a.value is None]
    if nulls:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(nulls)}")


def _alter_topic(name: str, alterations: Sequence[Alteration], writer: Writer, config: BrokerConfig) -> list[Versioned]:
    """Return the records that change some settings of a topic. Raise KafkaError with Kafka's code if not allowed."""
    own = _topic_configs(name, writer.image)
    changes = _changes(alterations, own, TOPIC_KEYS)
    after = {**own, **changes}
    _check_lengths(changes, own)
    validate({key: text for key, text in after.items() if text is not None}, config)
    return writer.configs(name, {key: text for key, text in changes.items() if text != own.get(key)})


def _replace_topic(
    name: str, configs: Mapping[str, str | None], writer: Writer, config: BrokerConfig
) -> list[Versioned]:
    """Return the records that give a topic exactly these settings."""
    own = _topic_configs(name, writer.image)
    _refuse_nulls(configs)
    validate(configs, config)
    gone: dict[str, str | None] = {key: None for key in own if key not in configs}
    return writer.configs(name, gone | {key: text for key, text in configs.items() if text != own.get(key)})


def _topic_configs(name: str, image: Image) -> dict[str, str]:
    if name == "":
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
    check_name(name)
    if name not in image.topics:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    return image.topics[name].configs


def _alter_broker(
    name: str, alterations: Sequence[Alteration], writer: Writer, config: BrokerConfig
) -> list[Versioned]:
    """Return the records that change settings of a broker (its id) or of every broker (an empty name)."""
    _check_node(name, [a.name for a in alterations if a.operation is not AlterConfigOp.DELETE], writer)
    own = writer.image.configs.get((BROKER_RESOURCE, name), {})
    keys = {a.name: key for a in alterations if (key := find_key(a.name)) is not None}
    changes = _changes(alterations, own, keys)
    _check_lengths(changes, own)
    _check_broker_changes(name, {**own, **changes}, changes)
    _check_broker_together(name, {**own, **changes}, writer, config)
    return _broker_records(name, {key: text for key, text in changes.items() if text != own.get(key)}, writer)


def _replace_broker(
    name: str, configs: Mapping[str, str | None], writer: Writer, config: BrokerConfig
) -> list[Versioned]:
    """Return the records that give a broker, or every broker, exactly these settings."""
    _check_node(name, configs, writer)
    _refuse_nulls(configs)
    own = writer.image.configs.get((BROKER_RESOURCE, name), {})
    gone: dict[str, str | None] = {key: None for key in own if key not in configs}
    _check_broker_changes(name, configs, gone | dict(configs))
    _check_broker_together(name, configs, writer, config)
    return _broker_records(name, gone | {key: text for key, text in configs.items() if text != own.get(key)}, writer)


def _alter_other(
    resource_type: int, name: str, alterations: Sequence[Alteration], writer: Writer, config: BrokerConfig
) -> list[Versioned]:
    """Return the records that change settings of a group, which may not exist, or client metrics. Raises KafkaError."""
    own = writer.image.configs.get((resource_type, name), {})
    changes = _changes(alterations, own, {})  # Kafka does not support APPEND for their lists
    after = {**own, **changes}
    _validate(resource_type, name, {key: text for key, text in after.items() if text is not None}, config)
    return _other_records(resource_type, name, own, changes)


def _replace_other(
    resource_type: int, name: str, configs: Mapping[str, str | None], writer: Writer, config: BrokerConfig
) -> list[Versioned]:
    """Return the records that give a group, or client metrics, exactly these settings. Raises KafkaError."""
    own = writer.image.configs.get((resource_type, name), {})
    _refuse_nulls(configs)
    _validate(resource_type, name, {key: text for key, text in configs.items() if text is not None}, config)
    gone: dict[str, str | None] = {key: None for key in own if key not in configs}
    return _other_records(resource_type, name, own, gone | dict(configs))


def _validate(resource_type: int, name: str, configs: Mapping[str, str], config: BrokerConfig) -> None:
    from barnabas.broker.config.resources import client_metrics, group_configs  # tables that few brokers need

    if resource_type == CLIENT_METRICS_RESOURCE:
        client_metrics.validate(name, configs)
    elif not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
    else:
        group_configs.validate(configs, config)


def _other_records(
    resource_type: int, name: str, own: Mapping[str, str], changes: Mapping[str, str | None]
) -> list[Versioned]:
    return [
        Versioned(ConfigRecord(resource_type=resource_type, resource_name=name, name=key, value=value))
        for key, value in changes.items()
        if value != own.get(key)
    ]


def check_broker_name(name: str, node_id: int) -> None:
    """Raise KafkaError INVALID_REQUEST unless the resource is this broker or the cluster default."""
    if name == CLUSTER_DEFAULT:
        return
    if broker_number(name, "Node id") != node_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unexpected broker id, expected {node_id}, but received {name}")


def _check_node(name: str, keys: Iterable[str], writer: Writer) -> None:
    """Check the name of a broker resource and its keys. With several nodes, the first node's settings apply to all.

    The other nodes can only have settings that have no effect here. Raise KafkaError INVALID_REQUEST.
    """
    if name == CLUSTER_DEFAULT or broker_number(name, "Node id") not in writer.brokers:
        return check_broker_name(name, writer.identity.node_id)
    shared = sorted(key for key in keys if key in KEYS)
    if shared and broker_number(name, "Node id") != writer.identity.node_id:
        sentence = f"The nodes share [{', '.join(shared)}]: set them for all brokers."
        raise KafkaError(ErrorCode.INVALID_REQUEST, sentence)


def broker_number(name: str, called: str) -> int:
    """Return the node id that names a broker resource. Raise INVALID_REQUEST, starting with `called`, if it is none."""
    found = _NODE_ID.fullmatch(name)
    if found is None or not _INT32_MIN <= (number := int(found[1] + found[2])) <= _INT32_MAX:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{called} must be an integer, but it is: {name}")
    return number


def _check_broker_changes(name: str, after: Mapping[str, str | None], changes: Mapping[str, str | None]) -> None:
    keys = {key: find_key(key) for key, text in after.items() if text is not None}
    fixed = [key for key, known in keys.items() if known is not None and known.update is Update.READ_ONLY]
    if fixed:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"Cannot update these configs dynamically: [{', '.join(sorted(fixed))}]"
        )
    bare = sorted(ONLY_OF_A_LISTENER & keys.keys())
    if bare:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            "These security configs can be dynamically updated only per-listener using the listener prefix: "
            f"[{', '.join(bare)}]",
        )
    own_only = [key for key, known in keys.items() if known is not None and known.update is Update.PER_BROKER]
    if name == CLUSTER_DEFAULT and own_only:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            "Cannot update these configs at default cluster level, broker id must be specified: "
            f"[{', '.join(sorted(own_only))}]",
        )
    for key, text in changes.items():
        if text is not None:
            _check_broker_value(key, text, keys[key])


def _check_broker_together(name: str, after: Mapping[str, str | None], writer: Writer, config: BrokerConfig) -> None:
    from barnabas.broker.config.resources.dynamic_checks import objection  # tables that few brokers need

    settings = {key: text for key, text in after.items() if text is not None}
    other = CLUSTER_DEFAULT if name else str(writer.identity.node_id)
    others = writer.image.configs.get((BROKER_RESOURCE, other), {})
    reason = objection(config, *((settings, others) if name else (others, settings)))
    if reason is not None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, reason)


def _check_broker_value(name: str, text: str, key: Key | None) -> None:
    unsupported = asks_for(name, text, key)
    if unsupported is not None:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"{name} requires {unsupported}, which this broker does not enforce."
        )
    if key is None:
        return  # Kafka stores unknown keys, for plug-ins
    try:
        parse_value(key, text)
    except InvalidValue as wrong:
        raise KafkaError(ErrorCode.INVALID_REQUEST, str(wrong)) from wrong


def _broker_records(name: str, changes: Mapping[str, str | None], writer: Writer) -> list[Versioned]:
    if writer.image.tracks_eligible_replicas and changes.get("min.insync.replicas", "") is None:
        level = "Cluster" if name == CLUSTER_DEFAULT else "Broker"
        raise KafkaError(
            ErrorCode.INVALID_CONFIG, f"{level}-level min.insync.replicas cannot be removed while ELR is enabled."
        )
    return [
        Versioned(ConfigRecord(resource_type=BROKER_RESOURCE, resource_name=name, name=key, value=value))
        for key, value in changes.items()
    ]


def _check_lengths(changes: Mapping[str, str | None], own: Mapping[str, str]) -> None:
    """Raise KafkaError INVALID_CONFIG if a value is too long for a record. Only APPEND makes one: a request cannot."""
    if any(
        text is not None and text != own.get(name) and _java_length(text) > _LENGTH_MAX
        for name, text in changes.items()
    ):
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            "The configuration value cannot be added because it exceeds the maximum value size of "
            f"{_LENGTH_MAX} bytes.",
        )


def _java_length(text: str) -> int:
    """Return the length of a text as Kafka counts it (in Java chars), although its message says bytes."""
    return len(text) + sum(each > "\uffff" for each in text)


def _refuse_nulls(configs: Mapping[str, str | None]) -> None:
    nulls = [name for name, text in configs.items() if text is None]
    if nulls:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(nulls)}")


def _changes(
    alterations: Sequence[Alteration],
    own: Mapping[str, str],
    keys: Mapping[str, TopicKey] | Mapping[str, Key],
) -> dict[str, str | None]:
    """Return the new values of the keys; None for a key that is deleted."""
    check_alterations(alterations)
    changes: dict[str, str | None] = {}
    for name, operation, value in alterations:
        if operation == AlterConfigOp.DELETE:
            changes[name] = None
        elif operation == AlterConfigOp.SET:
            changes[name] = value
        elif operation in (AlterConfigOp.APPEND, AlterConfigOp.SUBTRACT):
            assert value is not None
            changes[name] = _edited(name, keys.get(name), AlterConfigOp(operation), own.get(name), value)
        else:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown operation type {operation}")
    return changes


def _edited(name: str, key: TopicKey | Key | None, operation: AlterConfigOp, own: str | None, value: str) -> str:
    """Return the list after the operation. As in Kafka, a list without an own value starts from the key's default.

    As in Kafka, words are compared as they were written, including spaces, and an empty word is added and then refused.
    """
    if key is None or key.type is not ValueType.LIST:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG, f"Can't {operation.name} to key {name} because its type is not LIST."
        )
    elements = [word for word in _java_split(key.default or "" if own is None else own) if word]
    for word in _java_split(value):
        if operation is AlterConfigOp.APPEND and word not in elements:
            elements.append(word)
        elif operation is AlterConfigOp.SUBTRACT and word in elements:
            elements.remove(word)
    return ",".join(elements)


def _java_split(text: str) -> list[str]:
    """Split the text like Java's String.split(","): without trailing empty words, unless there is no comma."""
    return text.rstrip(",").split(",") if text.strip(",") else [] if text else [""]
