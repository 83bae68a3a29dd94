"""kafka-topics and kafka-get-offsets."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from barnabas.broker.cli.kafka.flags import barnabas, choose, parse, tool
from barnabas.broker.cli.terminal.options import connected
from barnabas.client.admin.configs import ConfigSource, ResourceType, describe_configs
from barnabas.client.admin.topics import describe_topics, list_topics
from barnabas.client.client import Client
from barnabas.client.metadata import TopicInfo
from barnabas.client.offsets import EARLIEST, LATEST, list_offsets
from barnabas.protocol.primitives import uuid_text

_ACTIONS = ("create", "list", "describe", "delete", "alter")
_LATEST_TIMES, _EARLIEST_TIMES = ("-1", "latest"), ("-2", "earliest")


def kafka_topics(arguments: Sequence[str]) -> int:
    """Create, list, describe, delete, alter topics."""
    parser = tool("kafka-topics")
    for action in _ACTIONS:
        parser.add_argument(f"--{action}", action="store_true")
    parser.add_argument("--topic")
    parser.add_argument("--partitions")
    parser.add_argument("--replication-factor")
    parser.add_argument("--config", action="append", default=[])
    for flag in ("--if-not-exists", "--if-exists", "--exclude-internal"):
        parser.add_argument(flag, action="store_true")
    options = parse(parser, arguments)
    action = choose(parser, options, _ACTIONS)
    if action in ("create", "delete", "alter") and options.topic is None:
        parser.error(f"--{action} needs --topic")
    if action == "describe":
        return _describe(options)
    return barnabas("topics", options, *_words(action, options))


def _words(action: str, options: argparse.Namespace) -> list[str]:
    """The command line of `barnabas topics`."""
    if action == "list":
        return ["list", *([] if options.exclude_internal else ["--internal"])]
    if action == "delete":
        return ["delete", *options.topic.split(","), *(["--if-exists"] if options.if_exists else [])]
    if action == "alter":
        return ["alter", options.topic, "--partitions", str(options.partitions)]
    words = ["create", options.topic]
    words += ["--partitions", options.partitions] if options.partitions else []
    words += ["--replication-factor", options.replication_factor] if options.replication_factor else []
    words += [word for config in options.config for word in ("--config", config)]
    return words + (["--if-not-exists"] if options.if_not_exists else [])


def _describe(options: argparse.Namespace) -> int:
    """In the form of Kafka's tool, which scripts look into."""
    options.request_timeout_ms = 10_000
    with connected(options) as client:
        for topic in _topics(client, options):
            print(_described(client, topic))
    return 0


def _topics(client: Client, options: argparse.Namespace) -> list[TopicInfo]:
    if options.topic is not None:
        return describe_topics(client, options.topic.split(","))
    return [topic for topic in list_topics(client) if not (options.exclude_internal and topic.is_internal)]


def _described(client: Client, topic: TopicInfo) -> str:
    configs = describe_configs(client, ResourceType.TOPIC, topic.name)
    own = ",".join(f"{each.name}={each.value}" for each in configs if each.source == ConfigSource.TOPIC)
    replicas = max((len(partition.replicas) for partition in topic.partitions.values()), default=0)
    lines = [
        f"Topic: {topic.name}\tTopicId: {uuid_text(topic.topic_id)}\tPartitionCount: {len(topic.partitions)}"
        f"\tReplicationFactor: {replicas}\tConfigs: {own}"
    ]
    for number, partition in topic.partitions.items():
        there, in_sync = (",".join(map(str, nodes)) for nodes in (partition.replicas, partition.isr))
        lines.append(
            f"\tTopic: {topic.name}\tPartition: {number}\tLeader: {partition.leader_id}\tReplicas: {there}"
            f"\tIsr: {in_sync}\tElr: \tLastKnownElr: "
        )
    return "\n".join(lines)


def kafka_get_offsets(arguments: Sequence[str]) -> int:
    """`topic:partition:offset` of the ends, the beginnings, or the first record at a time."""
    parser = tool("kafka-get-offsets")
    parser.add_argument("--topic")
    parser.add_argument("--time", default="latest")
    parser.add_argument("--exclude-internal-topics", dest="exclude_internal", action="store_true")
    options = parse(parser, arguments)
    if options.time in _LATEST_TIMES or options.time in _EARLIEST_TIMES:
        which = LATEST if options.time in _LATEST_TIMES else EARLIEST
    elif options.time.isascii() and options.time.isdecimal():
        which = int(options.time)
    else:
        parser.error(f"--time {options.time} is neither earliest, latest nor a time in ms")
    options.request_timeout_ms = 10_000
    with connected(options) as client:
        places = [(topic.name, number) for topic in _topics(client, options) for number in topic.partitions]
        for place, found in list_offsets(client, dict.fromkeys(places, which)).items():
            print(f"{place[0]}:{place[1]}:{found.offset if found.offset >= 0 else ''}")
    return 0
