"""kafka-consumer-groups."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from barnabas.broker.cli.group_offsets import log_ends
from barnabas.broker.cli.kafka.flags import barnabas, choose, parse, tool
from barnabas.broker.cli.terminal.options import Parser, connected
from barnabas.broker.cli.terminal.output import print_table
from barnabas.client.admin import groups
from barnabas.client.client import Client
from barnabas.client.offsets import committed_offsets

_ACTIONS = ("list", "describe", "delete", "reset-offsets", "delete-offsets")
_GOALS = ("to-earliest", "to-latest", "to-current")
_GOALS_WITH_VALUE = ("to-offset", "to-datetime", "shift-by")
_COLUMNS = ["GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST"]
_COLUMNS += ["CLIENT-ID"]


def kafka_consumer_groups(arguments: Sequence[str]) -> int:
    """List, describe, delete groups, and move them."""
    parser = _parser()
    options = parse(parser, arguments)
    action = choose(parser, options, _ACTIONS)
    if action == "list":
        options.request_timeout_ms = options.timeout
        with connected(options) as client:
            for each in groups.list_groups(client):
                print(each.group_id)
        return 0
    if not options.group and not options.all_groups:
        parser.error(f"--{action} needs --group or --all-groups")
    if action == "describe" and not (options.members or options.state):
        return _describe(options)
    if action == "describe":
        return barnabas("groups", options, "describe", *options.group)
    if options.all_groups:
        parser.error(f"--{action} needs --group here")
    if action == "delete":
        return barnabas("groups", options, "delete", *options.group)
    (group,) = options.group
    topics = [word for topic in options.topic for word in ("--topic", topic)]
    if action == "delete-offsets":
        return barnabas("groups", options, "delete", group, *topics)
    return barnabas("groups", options, "reset", group, *topics, *_goal(parser, options))


def _parser() -> Parser:
    parser = tool("kafka-consumer-groups")
    for action in (*_ACTIONS, *_GOALS):
        parser.add_argument(f"--{action}", action="store_true")
    for goal in _GOALS_WITH_VALUE:
        parser.add_argument(f"--{goal}")
    parser.add_argument("--group", action="append", default=[])
    parser.add_argument("--topic", action="append", default=[])
    parser.add_argument("--timeout", type=int, default=10_000)
    for flag in ("all-groups", "all-topics", "members", "state", "offsets", "verbose", "execute", "dry-run"):
        parser.add_argument(f"--{flag}", action="store_true")
    return parser


def _goal(parser: Parser, options: argparse.Namespace) -> list[str]:
    """Where `barnabas groups reset` is to move the group."""
    words = ["--all-topics"] if options.all_topics else []
    words += ["--execute"] if options.execute else []
    goal = choose(parser, options, (*_GOALS, *_GOALS_WITH_VALUE))
    if goal == "to-current":
        return [*words, "--shift-by", "0"]
    value = [getattr(options, goal.replace("-", "_"))] if goal in _GOALS_WITH_VALUE else []
    return [*words, f"--{goal}", *value]


def _describe(options: argparse.Namespace) -> int:
    """Where groups stand, in the columns of Kafka's tool, which scripts look into."""
    options.request_timeout_ms = options.timeout
    with connected(options) as client:
        names = [each.group_id for each in groups.list_groups(client)] if options.all_groups else options.group
        for name in names:
            print()
            print_table(_COLUMNS, _standings(client, name))
    return 0


def _standings(client: Client, name: str) -> list[list[str]]:
    info = groups.describe_group(client, name)
    committed = committed_offsets(client, name, require_stable=False)
    readers = {place: member for member in info.members for place in member.assignment or ()}
    places = sorted(committed.keys() | readers.keys())
    ends = log_ends(client, places)
    rows = []
    for place in places:
        current, end, reader = committed.get(place), ends.get(place), readers.get(place)
        lag = None if current is None or end is None else end - current
        who = (reader.member_id, reader.client_host, reader.client_id) if reader else (None, None, None)
        cells = (name, *place, current, end, lag, *who)
        rows.append(["-" if cell is None else str(cell) for cell in cells])
    return rows
