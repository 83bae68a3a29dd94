"""kafka-configs: selects the entities, and handles configs of topics, brokers and other resources.

Users, clients and addresses are handled in `config_users`. No refusal repeats text that may be a value, such as a
password.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from barnabas.broker.cli.kafka.config_users import (
    CLIENTS,
    IPS,
    USERS,
    alter_users,
    check_address,
    describe_users,
)
from barnabas.broker.cli.kafka.flags import (
    ALONE,
    VALUE,
    CommandRefused,
    Options,
    check_together,
    cluster,
    error_text,
    read,
    says_version,
)
from barnabas.broker.cli.kafka.group.group_changes import consumer_groups
from barnabas.client.admin.configs import (
    ConfigChange,
    ConfigOperation,
    ConfigSource,
    ConfigValue,
    ResourceType,
    alter_configs,
    describe_configs,
    list_resources,
)
from barnabas.client.admin.topics import list_topics
from barnabas.client.client import Client
from barnabas.client.security.client_properties import read_properties
from barnabas.protocol.errors import KafkaError

_TOPICS, _BROKERS, _LOGGERS, _METRICS, _GROUPS = "topics", "brokers", "broker-loggers", "client-metrics", "groups"
_TYPES = (_LOGGERS, _TOPICS, CLIENTS, USERS, _BROKERS, IPS, _METRICS, _GROUPS)
_NAMED_BY = {
    "topic": _TOPICS,
    "client": CLIENTS,
    "user": USERS,
    "broker": _BROKERS,
    "broker-logger": _LOGGERS,
    "ip": IPS,
    "client-metrics": _METRICS,
    "group": _GROUPS,
}
_DEFAULTS = {f"{name}-defaults": _NAMED_BY[name] for name in ("client", "user", "broker", "ip")}
_FLAGS = {
    **dict.fromkeys(["alter", "describe", "all", "entity-default", "force", *_DEFAULTS], ALONE),
    **dict.fromkeys(["entity-type", "entity-name", "add-config", "add-config-file", "delete-config"], VALUE),
    **dict.fromkeys(["bootstrap-controller", *_NAMED_BY], VALUE),
}
_PURPOSE = (
    "This tool helps to manipulate and describe entity config for a topic, client, user, broker, ip, "
    "client-metrics or group"
)
_HAVE_DEFAULTS = (USERS, CLIENTS, _BROKERS, IPS)
_RESOURCES = {
    _TOPICS: (ResourceType.TOPIC, ConfigSource.TOPIC),
    _BROKERS: (ResourceType.BROKER, ConfigSource.BROKER),
    _LOGGERS: (ResourceType.BROKER_LOGGER, None),
    _METRICS: (ResourceType.CLIENT_METRICS, ConfigSource.CLIENT_METRICS),
    _GROUPS: (ResourceType.GROUP, ConfigSource.GROUP),
}
"""Entity type -> the broker's resource type, and the source of the entity's own configs."""
_SOURCES = {
    ConfigSource.TOPIC: "DYNAMIC_TOPIC_CONFIG",
    ConfigSource.BROKER: "DYNAMIC_BROKER_CONFIG",
    ConfigSource.CLUSTER: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    ConfigSource.FILE: "STATIC_BROKER_CONFIG",
    ConfigSource.DEFAULT: "DEFAULT_CONFIG",
    ConfigSource.BROKER_LOGGER: "DYNAMIC_BROKER_LOGGER_CONFIG",
    ConfigSource.CLIENT_METRICS: "DYNAMIC_CLIENT_METRICS_CONFIG",
    ConfigSource.GROUP: "DYNAMIC_GROUP_CONFIG",
}
_OUTSIDE_BRACKETS = r"(?=[^\]]*(?:\[|$))"
_NOT_PAIRS = (
    "Invalid entity config: all configs to be added must be in the format "
    '"key=val" or  "key=[val1,val2]" to group values which contain commas.'
)


class _Entities(NamedTuple):
    """Types, and names in the same order; "" is the default. Describing needs no names."""

    types: list[str]
    names: list[str]


def kafka_configs(arguments: Sequence[str]) -> int:
    """Describe or alter the configs of topics, brokers, groups and client metrics, of users, clients and addresses."""
    options = read(_FLAGS, arguments)
    if says_version(options, arguments, _PURPOSE, _FLAGS):
        return 0
    entities = _checked(options)
    try:
        if options.has("alter"):
            added, deleted = _added(options), _deleted(options)
        with cluster(options) as client:
            if options.has("alter"):
                _alter(client, entities, added, deleted)
            else:
                _describe(client, entities, with_all=options.has("all"))
    except KafkaError as error:
        raise CommandRefused(f"Error while executing config command\n{error_text(error)}") from error
    return 0


# --- selecting entities ---


def _checked(options: Options) -> _Entities:
    if options.has("alter") == options.has("describe"):
        raise CommandRefused("Command must include exactly one action: --describe, --alter")
    check_together(options, "describe", ["add-config", "delete-config"])
    if not options.has("bootstrap-server"):
        if options.has("bootstrap-controller"):
            raise CommandRefused("There is no listener of a controller here: name a broker with --bootstrap-server.")
        raise CommandRefused("Either --bootstrap-server or --bootstrap-controller must be specified.")
    entities = _entities(options)
    _check_types(entities.types)
    by_flag = [flag for flag in (*_NAMED_BY, *_DEFAULTS) if options.has(flag)]
    if by_flag and any(options.has(f"entity-{part}") for part in ("type", "name", "default")):
        raise CommandRefused(
            "--entity-{type,name,default} should not be used in conjunction with specific entity flags"
        )
    for name in filter(None, entities.names):
        _check_name(entities.types[0], name)
    _check_alter(options, entities) if options.has("alter") else _check_describe(options, entities)
    return entities


def _entities(options: Options) -> _Entities:
    types, names = options.values("entity-type"), []
    for flag, value in options.given:
        if flag in ("entity-name", "entity-default"):
            names.append(value or "")
    for flag, kind in _NAMED_BY.items():
        if (value := options.value(flag)) is not None:
            types, names = [*types, kind], [*names, value]
    for flag, kind in _DEFAULTS.items():
        if options.has(flag):
            types, names = [*types, kind], [*names, ""]
    return _Entities(types, names)


def _check_types(types: Sequence[str]) -> None:
    if twice := sorted({kind for kind in types if types.count(kind) > 1}):
        raise CommandRefused(f"Duplicate entity type(s) specified: {','.join(twice)}")
    for kind in types:
        if kind not in _TYPES:
            known = ", ".join(_TYPES)
            where = "with a --bootstrap-server or --bootstrap-controller argument"
            raise CommandRefused(f"Invalid entity type {kind}, the entity type must be one of {known} {where}")
    if not types:
        raise CommandRefused("At least one entity type must be specified")
    if len(types) > 1 and set(types) != {USERS, CLIENTS}:
        raise CommandRefused("Only 'users' and 'clients' entity types may be specified together")


def _check_name(kind: str, name: str) -> None:
    if kind in (_BROKERS, _LOGGERS) and not re.fullmatch(r"[-+]?\d{1,10}", name, re.ASCII):
        raise CommandRefused(f"The entity name for {kind} must be a valid integer broker id, but it is: {name}")
    if kind == IPS:
        check_address(name)


def _check_describe(options: Options, entities: _Entities) -> None:
    kinds = ",".join(entities.types)
    if options.has("entity-default") and not set(entities.types) & set(_HAVE_DEFAULTS):
        raise CommandRefused(f"--entity-default must not be specified with --describe of {kinds}")
    if _LOGGERS in entities.types and not any(entities.names):
        raise CommandRefused(f"An entity name must be specified with --describe of {kinds}")


def _check_alter(options: Options, entities: _Entities) -> None:
    if set(entities.types) & set(_HAVE_DEFAULTS):
        if not entities.names:
            what = "An entity-name or default entity must be specified with --alter of users, clients, brokers or ips"
            raise CommandRefused(what)
    elif not any(entities.names):
        raise CommandRefused(f"An entity name must be specified with --alter of {','.join(entities.types)}")
    if options.has("add-config") and options.has("add-config-file"):
        raise CommandRefused("Only one of --add-config or --add-config-file must be specified")
    if not any(map(options.has, ("add-config", "add-config-file", "delete-config"))):
        what = "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter"
        raise CommandRefused(what)
    if len(entities.types) != len(entities.names):
        raise CommandRefused("An entity name must be specified for every entity type")


# --- changes ---


def _added(options: Options) -> dict[str, str]:
    path = options.value("add-config-file")
    if path is None:
        return assignments(options.value("add-config") or "")
    try:
        return read_properties(path)
    except ValueError as error:
        raise CommandRefused(f"Error while executing config command\n{error}") from error


def assignments(text: str) -> dict[str, str]:
    """Parse `a=1,b=[x,y]`: brackets around a value that contains commas. CommandRefused of other forms."""
    found = {}
    for word in re.split(f",{_OUTSIDE_BRACKETS}", text) if text else ():
        parts = re.split(rf"\s*=\s*{_OUTSIDE_BRACKETS}", word)
        if len(parts) != 2:
            raise CommandRefused(_NOT_PAIRS)
        found[parts[0].strip()] = re.sub(r"[\[\]]", "", parts[1]).strip()
    return found


def _deleted(options: Options) -> list[str]:
    words = [word.strip() for text in options.values("delete-config") for word in text.split(",")]
    return [word for word in words if word]


def _alter(client: Client, entities: _Entities, added: dict[str, str], deleted: list[str]) -> None:
    kind, name = entities.types[0], entities.names[0]
    if kind in _RESOURCES:
        changes = [ConfigChange(key, ConfigOperation.SET, value) for key, value in added.items()]
        changes += [ConfigChange(key, ConfigOperation.DELETE) for key in deleted]
        alter_configs(client, _RESOURCES[kind][0], name, changes)
    else:
        alter_users(client, entities.types, entities.names, added, deleted)
    if name:
        print(f"Completed updating config for {kind[:-1]} {name}.")
    else:
        print(f"Completed updating default config for {kind} in the cluster.")


def _describe(client: Client, entities: _Entities, *, with_all: bool) -> None:
    kind = entities.types[0]
    if kind not in _RESOURCES:
        describe_users(client, entities.types, entities.names)
        return
    known = _known(client, kind)
    wanted = entities.names or [*known, *([""] if kind == _BROKERS else [])]
    for name in wanted:
        if entities.names and name and name not in known and not with_all:
            print(f"The {kind[:-1]} '{name}' doesn't exist and doesn't have dynamic config.")
            continue
        if name:
            print(f"{'All' if with_all else 'Dynamic'} configs for {kind[:-1]} {name} are:")
        else:
            print(f"Default configs for {kind} in the cluster are:")
        _print_configs(client, kind, name, with_all)


def _known(client: Client, kind: str) -> list[str]:
    """Return the names of the existing entities of a type."""
    if kind == _TOPICS:
        return [topic.name for topic in list_topics(client)]
    if kind in (_BROKERS, _LOGGERS):
        return [str(node) for node in sorted(client.cluster.brokers)]
    found = set(list_resources(client, _RESOURCES[kind][0]))
    return sorted(found | {each.group_id for each in consumer_groups(client)} if kind == _GROUPS else found)


def _print_configs(client: Client, kind: str, name: str, with_all: bool) -> None:
    resource, own = _RESOURCES[kind]
    wanted = ConfigSource.CLUSTER if kind == _BROKERS and not name else own
    for each in describe_configs(client, resource, name, include_synonyms=True):
        if with_all or wanted is None or each.source == wanted:
            print(f"  {each.name}={_text(each.value)} sensitive={str(each.is_sensitive).lower()} {_synonyms(each)}")


def _synonyms(config: ConfigValue) -> str:
    shown = (
        f"{_SOURCES.get(ConfigSource(each.source), 'UNKNOWN')}:{each.name}={_text(each.value)}"
        for each in config.synonyms
    )
    return f"synonyms={{{', '.join(shown)}}}"


def _text(value: str | None) -> str:
    return "null" if value is None else value
