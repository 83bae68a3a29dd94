"""kafka-topics."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from barnabas.broker.cli.kafka.flags import (
    ALONE,
    VALUE,
    CommandRefused,
    Options,
    WrongOption,
    check_together,
    cluster,
    error_text,
    need,
    read,
    says_version,
)
from barnabas.client.admin.configs import ConfigSource, ConfigValue, ResourceType, describe_configs
from barnabas.client.admin.topics import create_partitions, create_topic, delete_topic, describe_topics, list_topics
from barnabas.client.client import Client
from barnabas.client.metadata import PartitionInfo, TopicInfo
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.primitives import ZERO_UUID, uuid_text

_ACTIONS = ("list", "describe", "create", "alter", "delete")
_REPORTS = (
    "under-replicated-partitions",
    "unavailable-partitions",
    "under-min-isr-partitions",
    "at-min-isr-partitions",
)
_OVERRIDES = "topics-with-overrides"
_FLAGS = {
    **dict.fromkeys([*_ACTIONS, *_REPORTS, _OVERRIDES, "if-exists", "if-not-exists", "exclude-internal"], ALONE),
    **dict.fromkeys(["topic", "topic-id", "config", "delete-config", "partitions", "replication-factor"], VALUE),
    **dict.fromkeys(["replica-assignment", "partition-size-limit-per-response"], VALUE),
}
_ONLY_WITH = {
    "config": ("alter", "create"),
    "partitions": ("alter", "create"),
    "replication-factor": ("create",),
    "replica-assignment": ("alter", "create"),
    **dict.fromkeys((*_REPORTS, _OVERRIDES), ("describe",)),
    "if-exists": ("alter", "delete", "describe"),
    "if-not-exists": ("create",),
    "exclude-internal": ("list", "describe"),
}
"""Flag -> the actions that it goes with."""
_PURPOSE = "This tool helps to create, delete, describe, or change a topic."
_PURPOSE_ALONE = "Create, delete, describe, or change a topic."
_REPLICATION_MAX = (1 << 15) - 1
_COLLISION = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could "
    "collide. To avoid issues it is best to use either, but not both."
)
_MIN_ISR = "min.insync.replicas"


def kafka_topics(arguments: Sequence[str]) -> int:
    """Create, list, describe, delete, alter topics."""
    options = read(_FLAGS, arguments)
    if says_version(options, arguments, _PURPOSE if arguments else _PURPOSE_ALONE, _FLAGS):
        return 0
    action = _checked(options)
    try:
        with cluster(options) as client:
            _DO[action](client, options)
    except (KafkaError, WrongOption, CommandRefused) as error:
        print(f"Error while executing topic command : {error_text(error)}")
        return 1
    return 0


def _checked(options: Options) -> str:
    """Return the action. CommandRefused if there is none, or flags do not go together."""
    actions = [action for action in _ACTIONS if options.has(action)]
    if len(actions) != 1:
        raise CommandRefused(
            "Command must include exactly one action: --list, --describe, --create, --alter or --delete"
        )
    if not options.has("bootstrap-server"):
        raise CommandRefused("--bootstrap-server must be specified")
    (action,) = actions
    if action == "describe" and options.has("if-exists") and not (options.has("topic") or options.has("topic-id")):
        raise CommandRefused("--topic or --topic-id is required to describe a topic")
    if action not in ("list", "describe"):
        need(options, "topic")
    if action == "alter":
        if options.has("config"):
            where = '"[[config], [bootstrap-server]]" can\'t be used with option "[alter]"'
            raise CommandRefused(
                f"Option combination {where} (To alter topic configurations, the kafka-configs tool can be used.)"
            )
        need(options, "partitions")
    for flag, fitting in _ONLY_WITH.items():
        check_together(options, flag, [each for each in _ACTIONS if each not in fitting])
    if action == "create":
        check_together(options, "replica-assignment", ["partitions", "replication-factor"])
    for report in _REPORTS:
        check_together(options, report, [_OVERRIDES, *(other for other in _REPORTS if other != report)])
    return action


# --- selecting topics ---


def is_allowed(pattern: str) -> Callable[[str], bool]:
    """Return the filter of Kafka's topic pattern: a regular expression, in which a comma is a bar. CommandRefused."""
    text = re.sub(r"^[\"']+|[\"']+$", "", pattern.strip().replace(",", "|").replace(" ", ""))
    try:
        compiled = re.compile(text, re.ASCII)
    except re.error:
        raise CommandRefused(f"{text} is an invalid regex.") from None
    return lambda name: compiled.fullmatch(name) is not None


def chosen_topics(client: Client, pattern: str | None, *, exclude_internal: bool = False) -> list[TopicInfo]:
    """Return the topics that a pattern allows, by name; all of them without one."""
    fits = is_allowed(".*" if pattern is None else pattern)
    return [each for each in list_topics(client) if fits(each.name) and not (exclude_internal and each.is_internal)]


def _chosen(client: Client, options: Options) -> list[TopicInfo]:
    pattern = options.value("topic")
    found = chosen_topics(client, pattern, exclude_internal=options.has("exclude-internal"))
    if pattern and not found and not options.has("if-exists") and not options.has("list"):
        raise CommandRefused(f"Topic '{pattern}' does not exist as expected")
    return found


# --- actions ---


def _list(client: Client, options: Options) -> None:
    print("\n".join(topic.name for topic in _chosen(client, options)))


def _delete(client: Client, options: Options) -> None:
    for topic in _chosen(client, options):
        delete_topic(client, topic.name)


def _create(client: Client, options: Options) -> None:
    name = options.value("topic") or ""
    partitions, replication = options.number("partitions"), options.number("replication-factor")
    assignment = _assignment(options)
    configs = dict(_config(each) for each in options.values("config"))
    if "." in name or "_" in name:
        print(_COLLISION)
    if replication is not None and not 1 <= replication <= _REPLICATION_MAX:
        raise CommandRefused(f"The replication factor must be between 1 and {_REPLICATION_MAX} inclusive")
    if partitions is not None and partitions < 1:
        raise CommandRefused("The partitions must be greater than 0")
    try:
        create_topic(
            client,
            name,
            partitions=partitions or -1,
            replication_factor=replication or -1,
            configs=configs,
            assignment=assignment,
        )
    except KafkaError as error:
        if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS or not options.has("if-not-exists"):
            raise
    else:
        print(f"Created topic {name}.")


def _config(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not value.strip() or "=" in value:
        raise CommandRefused(
            'requirement failed: Invalid topic config: all configs to be added must be in the format "key=val".'
        )
    return key.strip(), value.strip()


def _assignment(options: Options) -> list[list[int]]:
    """Return the replicas of each partition in --replica-assignment: `1:2,2:1`."""
    text = options.value("replica-assignment")
    found: list[list[int]] = []
    for number, words in enumerate(text.split(",") if text else ()):
        try:
            nodes = [int(word) for word in words.split(":")]
        except ValueError:
            raise CommandRefused(f'For input string: "{words}"') from None
        twice = sorted({node for node in nodes if nodes.count(node) > 1})
        if twice:
            shown = ",".join(map(str, twice))
            raise CommandRefused(f"Partition replica lists may not contain duplicate entries: {shown}")
        found.append(nodes)
        if len(nodes) != len(found[0]):
            raise CommandRefused(f"Partition {number} has different replication factor: {nodes}")
    return found


def _alter(client: Client, options: Options) -> None:
    total, assignment = options.number("partitions") or 0, _assignment(options)
    for topic in _chosen(client, options):
        new = assignment[len(topic.partitions) :] if assignment else None
        create_partitions(client, topic.name, total, assignment=new)


# --- describing ---


class _Described(NamedTuple):
    """A topic, its configs by key, and the ids of the existing nodes."""

    topic: TopicInfo
    configs: dict[str, ConfigValue]
    nodes: frozenset[int]


def _describe(client: Client, options: Options) -> None:
    if options.has("topic-id") and options.value("topic-id") != uuid_text(ZERO_UUID):
        topics = _with_id(client, options)
    else:
        topics = _chosen(client, options)
    reports = [report for report in _REPORTS if options.has(report)]
    nodes = frozenset(client.cluster.brokers)
    for topic in describe_topics(client, [topic.name for topic in topics]):
        configs = {each.name: each for each in describe_configs(client, ResourceType.TOPIC, topic.name)}
        described = _Described(topic, configs, nodes)
        own = _own(described)
        if not reports and (own or not options.has(_OVERRIDES)):
            print(_head(described, own))
        for number, partition in topic.partitions.items() if not options.has(_OVERRIDES) else ():
            if not reports or any(_IS_REPORTED[report](partition, described) for report in reports):
                print(_line(topic.name, number, partition))


def _with_id(client: Client, options: Options) -> list[TopicInfo]:
    wanted = options.value("topic-id") or ""
    found = [topic for topic in list_topics(client) if uuid_text(topic.topic_id) == wanted]
    if not found and not options.has("if-exists"):
        raise CommandRefused(f"TopicId '{wanted}' does not exist as expected")
    return found


def _own(described: _Described) -> str:
    """Return configs that are not the release's defaults, as Kafka's tool shows them."""
    shown = [each for each in described.configs.values() if each.source != ConfigSource.DEFAULT]
    return ",".join(f"{each.name}={'null' if each.value is None else each.value}" for each in shown)


def _head(described: _Described, own: str) -> str:
    topic = described.topic
    first = next(iter(topic.partitions.values()))
    return (
        f"Topic: {topic.name}\tTopicId: {uuid_text(topic.topic_id)}\tPartitionCount: {len(topic.partitions)}"
        f"\tReplicationFactor: {len(first.replicas)}\tConfigs: {own}"
    )


def _line(name: str, number: int, partition: PartitionInfo) -> str:
    leader = "none" if partition.leader_id < 0 else partition.leader_id
    replicas, in_sync = (",".join(map(str, nodes)) for nodes in (partition.replicas, partition.isr))
    return (
        f"\tTopic: {name}\tPartition: {number}\tLeader: {leader}\tReplicas: {replicas}\tIsr: {in_sync}"
        f"\tElr: \tLastKnownElr: "
    )


def _min_isr(described: _Described) -> int:
    return int(described.configs[_MIN_ISR].value or 1)


_IS_REPORTED: dict[str, Callable[[PartitionInfo, _Described], bool]] = {
    "under-replicated-partitions": lambda partition, _: len(partition.isr) < len(partition.replicas),
    "unavailable-partitions": lambda partition, described: partition.leader_id not in described.nodes,
    "under-min-isr-partitions": lambda partition, described: (
        partition.leader_id < 0 or len(partition.isr) < _min_isr(described)
    ),
    "at-min-isr-partitions": lambda partition, described: len(partition.isr) == _min_isr(described),
}
_DO: dict[str, Callable[[Client, Options], None]] = {
    "list": _list,
    "describe": _describe,
    "create": _create,
    "alter": _alter,
    "delete": _delete,
}
