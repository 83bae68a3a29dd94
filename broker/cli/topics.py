"""`barnabas topics`: list, create, delete, describe, alter."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from barnabas.broker.cli.terminal.options import (
    INT16_MAX,
    INT32_MAX,
    Parser,
    assignment,
    at_most,
    connected,
    positive,
    shared_options,
    unique_keys,
)
from barnabas.broker.cli.terminal.output import counted, print_json, print_table, report
from barnabas.client.admin.configs import ConfigSource, ResourceType, describe_configs
from barnabas.client.admin.topics import create_partitions, create_topic, delete_topic, describe_topics, list_topics
from barnabas.client.client import Client
from barnabas.client.metadata import TopicInfo
from barnabas.client.offsets import EARLIEST, LATEST, list_offsets
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.primitives import uuid_text


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options = parser().parse_args(arguments)
    with connected(options) as client:
        options.action(client, options)
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    parents = shared_options(again=True)
    top = Parser(
        prog="barnabas topics", description="List, create, delete, describe, alter topics.", parents=shared_options()
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    listing = commands.add_parser("list", parents=parents, help="print the names of all topics")
    listing.add_argument("--internal", action="store_true", help="internal topics too")
    listing.set_defaults(action=_list)

    create = commands.add_parser("create", parents=parents, help="create a topic")
    create.add_argument("topic", metavar="TOPIC")
    create.add_argument(
        "--partitions", type=at_most(INT32_MAX, positive), metavar="N", help="default: num.partitions of the broker"
    )
    create.add_argument(
        "--replication-factor",
        type=at_most(INT16_MAX, positive),
        metavar="N",
        help="default: default.replication.factor of the broker",
    )
    create.add_argument("--config", action="append", type=assignment, default=[], metavar="KEY=VALUE")
    create.add_argument("--if-not-exists", action="store_true", help="succeed if the topic exists")
    create.add_argument("--validate-only", action="store_true", help="check, but create nothing")
    create.set_defaults(action=_create)

    delete = commands.add_parser("delete", parents=parents, help="delete topics and their records")
    delete.add_argument("topics", metavar="TOPIC", nargs="+")
    delete.add_argument("--if-exists", action="store_true", help="succeed if a topic does not exist")
    delete.set_defaults(action=_delete)

    describe = commands.add_parser("describe", parents=parents, help="print partitions, leaders and configs of topics")
    describe.add_argument("topics", metavar="TOPIC", nargs="*", help="default: all except internal ones")
    describe.add_argument(
        "--offsets", action="store_true", help="also the log start offset and the end offset of each partition"
    )
    describe.set_defaults(action=_describe)

    alter = commands.add_parser("alter", parents=parents, help="give a topic more partitions")
    alter.add_argument("topic", metavar="TOPIC")
    alter.add_argument(
        "--partitions", type=at_most(INT32_MAX, positive), required=True, metavar="N", help="the new total"
    )
    alter.add_argument("--validate-only", action="store_true", help="check, but change nothing")
    alter.set_defaults(action=_alter)
    return top


def _list(client: Client, options: argparse.Namespace) -> None:
    topics = [topic for topic in list_topics(client) if options.internal or not topic.is_internal]
    if options.json:
        print_json([_summary(topic) for topic in topics])
    else:
        for topic in topics:
            print(topic.name)


def _create(client: Client, options: argparse.Namespace) -> None:
    try:
        topic_id = create_topic(
            client,
            options.topic,
            partitions=options.partitions or -1,
            replication_factor=options.replication_factor or -1,
            configs=unique_keys(options.config, "--config"),
            validate_only=options.validate_only,
        )
    except KafkaError as error:
        if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS or not options.if_not_exists:
            raise
        report(options, {"topic": options.topic, "created": False}, f"topic {options.topic} exists already")
        return
    if options.validate_only:
        report(options, {"topic": options.topic, "created": False}, f"topic {options.topic} could be created")
    else:
        created = {"topic": options.topic, "created": True, "topic_id": uuid_text(topic_id)}
        report(options, created, f"created topic {options.topic}")


def _delete(client: Client, options: argparse.Namespace) -> None:
    for name in options.topics:
        try:
            delete_topic(client, name)
        except KafkaError as error:
            if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION or not options.if_exists:
                raise
            report(options, {"topic": name, "deleted": False}, f"there is no topic {name}")
        else:
            report(options, {"topic": name, "deleted": True}, f"deleted topic {name}")


def _alter(client: Client, options: argparse.Namespace) -> None:
    create_partitions(client, options.topic, options.partitions, validate_only=options.validate_only)
    altered = not options.validate_only
    text = f"topic {options.topic} {'has' if altered else 'could have'} {counted(options.partitions, 'partition')}"
    report(options, {"topic": options.topic, "partitions": options.partitions, "altered": altered}, text)


def _describe(client: Client, options: argparse.Namespace) -> None:
    if options.topics:
        topics = describe_topics(client, options.topics)
    else:
        topics = [topic for topic in list_topics(client) if not topic.is_internal]
    described = [_description(client, topic, with_offsets=options.offsets) for topic in topics]
    if options.json:
        print_json(described)
        return
    for index, topic in enumerate(described):
        if index:
            print()
        _print_description(topic, with_offsets=options.offsets)


def _description(client: Client, topic: TopicInfo, *, with_offsets: bool) -> dict[str, Any]:
    configs = describe_configs(client, ResourceType.TOPIC, topic.name)
    own = {config.name: config.value for config in configs if config.source == ConfigSource.TOPIC}
    partitions: list[dict[str, Any]] = [
        {
            "partition": number,
            "leader": partition.leader_id,
            "leader_epoch": partition.leader_epoch,
            "replicas": list(partition.replicas),
            "isr": list(partition.isr),
        }
        for number, partition in topic.partitions.items()
    ]
    if with_offsets:
        places = [(topic.name, number) for number in topic.partitions]
        first, after = (list_offsets(client, dict.fromkeys(places, which)) for which in (EARLIEST, LATEST))
        for place, partition in zip(places, partitions, strict=True):
            partition |= {"first_offset": first[place].offset, "next_offset": after[place].offset}
    return _summary(topic) | {"configs": own, "partitions": partitions}


def _print_description(topic: dict[str, Any], *, with_offsets: bool) -> None:
    print(f"{topic['topic']}  id {topic['topic_id']}  {counted(len(topic['partitions']), 'partition')}")
    for name, value in topic["configs"].items():
        print(f"  {name}={value}")
    columns = ["partition", "leader", "leader_epoch", "replicas", "isr"]
    columns += ["first_offset", "next_offset"] if with_offsets else []
    print_table(columns, [[_cell(partition[column]) for column in columns] for partition in topic["partitions"]])


def _cell(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _summary(topic: TopicInfo) -> dict[str, Any]:
    return {
        "topic": topic.name,
        "topic_id": uuid_text(topic.topic_id),
        "internal": topic.is_internal,
        "partition_count": len(topic.partitions),
    }
