"""`barnabas configs`: describe and alter the configuration of topics, brokers and groups."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from barnabas.broker.cli.terminal.failures import UsageError
from barnabas.broker.cli.terminal.options import (
    Parser,
    assignment,
    connected,
    shared_options,
    unique_keys,
    whole,
)
from barnabas.broker.cli.terminal.output import print_json, print_table
from barnabas.client.admin.configs import (
    ConfigChange,
    ConfigOperation,
    ConfigSource,
    ConfigValue,
    ResourceType,
    alter_configs,
    describe_configs,
)
from barnabas.client.client import Client
from barnabas.client.near_names import did_you_mean
from barnabas.protocol.errors import ErrorCode, KafkaError

SOURCES: dict[int, str] = {
    ConfigSource.TOPIC: "topic",
    ConfigSource.BROKER: "broker",
    ConfigSource.CLUSTER: "all brokers",
    ConfigSource.GROUP: "group",
    ConfigSource.FILE: "file",
    ConfigSource.DEFAULT: "default",
}


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options = parser().parse_args(arguments)
    if options.command == "alter" and not _changes(options):
        raise UsageError("configs alter: nothing to do, give --set, --delete, --append or --subtract")
    with connected(options) as client:
        options.action(client, options)
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    parents = [*shared_options(again=True), _resource_options()]
    top = Parser(
        prog="barnabas configs",
        description="Describe or alter the configuration of topics, brokers and groups.",
        parents=shared_options(),
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    describe = commands.add_parser("describe", parents=parents, help="print configs and where each comes from")
    describe.add_argument("keys", metavar="KEY", nargs="*", help="only these")
    describe.add_argument("--all", action="store_true", help="print default values, too")
    describe.set_defaults(action=_describe)

    alter = commands.add_parser("alter", parents=parents, help="change some configs, and leave the others as they are")
    alter.add_argument("--set", action="append", type=assignment, default=[], metavar="KEY=VALUE", help="a value")
    alter.add_argument("--delete", action="append", default=[], metavar="KEY", help="return to the default")
    alter.add_argument("--append", action="append", type=assignment, default=[], metavar="KEY=VALUE", help="to a list")
    alter.add_argument(
        "--subtract", action="append", type=assignment, default=[], metavar="KEY=VALUE", help="from a list"
    )
    alter.add_argument("--validate-only", action="store_true", help="check, but change nothing")
    alter.set_defaults(action=_alter)
    return top


def _resource_options() -> Parser:
    options = Parser(add_help=False)
    resource = options.add_argument_group("whose").add_mutually_exclusive_group(required=True)
    resource.add_argument("--topic", metavar="TOPIC", help="a topic's configs")
    resource.add_argument("--broker", type=whole, metavar="NODE_ID", help="one broker's configs")
    resource.add_argument("--group", metavar="GROUP", help="a group's configs; the group need not exist")
    resource.add_argument("--broker-defaults", action="store_true", help="the configs all brokers share")
    return options


def _describe(client: Client, options: argparse.Namespace) -> None:
    resource, name = _resource(options)
    configs = describe_configs(client, resource, name, options.keys or None)
    for key in [key for key in options.keys if key not in {config.name for config in configs}]:
        there = [config.name for config in describe_configs(client, resource, name)]
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"there is no config {key!r} here{did_you_mean(key, there)}")
    if not options.all and not options.keys:
        configs = [config for config in configs if config.source != ConfigSource.DEFAULT]
    if options.json:
        print_json(
            [
                {
                    "name": config.name,
                    "value": config.value,
                    "source": SOURCES.get(config.source, "unknown"),
                    "read_only": config.is_read_only,
                    "sensitive": config.is_sensitive,
                }
                for config in configs
            ]
        )
    elif configs:
        rows = [(config.name, _shown(config), SOURCES.get(config.source, "")) for config in configs]
        print_table(("config", "value", "source"), rows)


def _alter(client: Client, options: argparse.Namespace) -> None:
    resource, name = _resource(options)
    changes = _changes(options)
    if resource is ResourceType.BROKER:
        _warn_of_unknown(changes)
    alter_configs(client, resource, name, changes, validate_only=options.validate_only)
    if options.json:
        print_json({"altered": [] if options.validate_only else sorted({change.name for change in changes})})
    else:
        print(f"{'could change' if options.validate_only else 'changed'} {len(changes)} config(s)")


def _warn_of_unknown(changes: Sequence[ConfigChange]) -> None:
    """Warn of unknown names with a similar key: brokers store settings under any name, so they do not refuse them."""
    from barnabas.broker.config.broker_config import find_key
    from barnabas.broker.config.unknown_keys import near_key

    for name in [change.name for change in changes if find_key(change.name) is None]:
        meant = near_key(name)
        if meant:
            print(f"barnabas: {name} is not a config of brokers{meant}", file=sys.stderr)


def _resource(options: argparse.Namespace) -> tuple[ResourceType, str]:
    if options.topic is not None:
        return ResourceType.TOPIC, options.topic
    if options.group is not None:
        return ResourceType.GROUP, options.group
    return ResourceType.BROKER, "" if options.broker_defaults else str(options.broker)


def _changes(options: argparse.Namespace) -> list[ConfigChange]:
    operations = (
        (ConfigOperation.SET, options.set, "--set"),
        (ConfigOperation.APPEND, options.append, "--append"),
        (ConfigOperation.SUBTRACT, options.subtract, "--subtract"),
    )
    changes = [
        ConfigChange(key, operation, value)
        for operation, pairs, option in operations
        for key, value in unique_keys(pairs, option).items()
    ]
    return changes + [ConfigChange(key, ConfigOperation.DELETE) for key in options.delete]


def _shown(config: ConfigValue) -> str:
    if config.is_sensitive:
        return "(hidden)"
    return "(unset)" if config.value is None else config.value
