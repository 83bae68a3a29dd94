"""kafka-configs."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence

from barnabas.broker.cli.kafka.flags import barnabas, choose, parse, tool
from barnabas.broker.cli.terminal.failures import UsageError

_ACTIONS = ("describe", "alter")
_ASSIGNMENT = re.compile(r"([^=,\s]+)=(?:\[([^]]*)\]|([^,]*))(?:,|$)")


def kafka_configs(arguments: Sequence[str]) -> int:
    """Describe or alter the configs of a topic or of brokers, or quotas."""
    parser = tool("kafka-configs")
    for action in _ACTIONS:
        parser.add_argument(f"--{action}", action="store_true")
    for flag in ("--entity-type", "--entity-name", "--topic", "--broker", "--add-config", "--delete-config"):
        parser.add_argument(flag)
    for flag in ("--user", "--client", "--ip"):
        parser.add_argument(flag)
        parser.add_argument(f"{flag}-defaults", action="store_true")
    for flag in ("--entity-default", "--broker-defaults", "--all"):
        parser.add_argument(flag, action="store_true")
    options = parse(parser, arguments)
    action = choose(parser, options, _ACTIONS)
    if (whose := _of_clients(options)) is not None:
        return _quotas(action, whose, options)
    words = [action, *_whose(options)]
    if action == "describe":
        return barnabas("configs", options, *words, *(["--all"] if options.all else []))
    for key, value in assignments(options.add_config or ""):
        words += ["--set", f"{key}={value}"]
    for key in (options.delete_config or "").split(","):
        words += ["--delete", key.strip()] if key.strip() else []
    return barnabas("configs", options, *words)


def assignments(text: str) -> list[tuple[str, str]]:
    """`a=1,b=[x,y]`: brackets around a value that has commas in it. UsageError for what is neither."""
    found, position = [], 0
    while position < len(text):
        match = _ASSIGNMENT.match(text, position)
        if match is None:
            raise UsageError("kafka-configs: --add-config is not followed by KEY=VALUE,…")
        found.append((match[1], match[2] if match[2] is not None else match[3]))
        position = match.end()
    return found


def _of_clients(options: argparse.Namespace) -> list[str] | None:
    """Whose quotas are meant, as `barnabas quotas` is told; None where it is about something else."""
    words: list[str] = []
    for flag in ("user", "client", "ip"):
        is_named_by_type = options.entity_type == f"{flag}s"
        if getattr(options, flag) or (is_named_by_type and options.entity_name):
            words += [f"--{flag}", getattr(options, flag) or options.entity_name]
        elif getattr(options, f"{flag}_defaults") or (is_named_by_type and options.entity_default):
            words.append(f"--{flag}-defaults")
        elif is_named_by_type:
            return words  # all of them
    return words or None


def _quotas(action: str, whose: list[str], options: argparse.Namespace) -> int:
    if action == "describe":
        return barnabas("quotas", options, "list", *whose)
    words = [f"--set={key}={value}" for key, value in assignments(options.add_config or "")]
    words += [f"--delete={key.strip()}" for key in (options.delete_config or "").split(",") if key.strip()]
    return barnabas("quotas", options, "alter", *whose, *words)


def _whose(options: argparse.Namespace) -> list[str]:
    kind, name = options.entity_type, options.entity_name
    if options.topic or kind == "topics":
        if not (options.topic or name):
            raise UsageError("kafka-configs: name the topic, with --entity-name")
        return ["--topic", options.topic or name]
    if options.broker or options.broker_defaults or kind == "brokers":
        if options.broker or name:
            return ["--broker", options.broker or name]
        return ["--broker-defaults"]
    known = "topics, brokers, users, clients and ips"
    raise UsageError(f"kafka-configs: only {known} have configs here, not {kind or 'nothing'}")
