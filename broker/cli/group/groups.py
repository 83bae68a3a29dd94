"""`barnabas groups`: list, describe, offsets, reset, delete, end-locks.

Descriptions as text and JSON: broker/cli/group/described.py. Offsets: broker/cli/group/group_offsets.py. Locks, which
no request of a client ends: broker/cli/group/share_locks.py.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from typing import Any

from barnabas.broker.cli.group import group_offsets, share_locks
from barnabas.broker.cli.group.described import group_facts, print_group
from barnabas.broker.cli.group.share_offsets import whole_topics
from barnabas.broker.cli.terminal.options import Parser, connected, shared_options
from barnabas.broker.cli.terminal.output import counted, print_json, print_table
from barnabas.broker.cli.terminal.topic_choice import add_topic_option, named_partitions
from barnabas.client.admin import groups
from barnabas.client.admin.group_descriptions import SHARE
from barnabas.client.admin.newer_groups import describe_any_group
from barnabas.client.admin.share_offsets import delete_share_offsets
from barnabas.client.client import Client
from barnabas.client.near_names import did_you_mean
from barnabas.protocol.errors import ErrorCode, KafkaError


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options = parser().parse_args(arguments)
    if options.command == "end-locks":
        share_locks.end_locks(options)
        return 0
    with connected(options) as client:
        options.action(client, options)
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    parents = shared_options(again=True)
    top = Parser(
        prog="barnabas groups",
        description="List, describe, reset, delete groups of consumers, also share and streams groups.",
        parents=shared_options(),
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    listing = commands.add_parser("list", parents=parents, help="print all groups, with their states")
    listing.add_argument(
        "--state",
        action="append",
        type=_one_of("state", groups.STATES),
        default=[],
        metavar="STATE",
        help="only groups in this state",
    )
    listing.add_argument(
        "--type",
        action="append",
        type=_one_of("type", groups.TYPES),
        default=[],
        metavar="TYPE",
        help="only groups of this type",
    )
    listing.set_defaults(action=_list)

    describe = commands.add_parser("describe", parents=parents, help="print state, members, and the partitions of each")
    describe.add_argument("groups", metavar="GROUP", nargs="*", help="default: all groups")
    describe.set_defaults(action=_describe)

    group_offsets.add_parsers(commands, parents)

    delete = commands.add_parser("delete", parents=parents, help="delete groups, or some committed offsets of one")
    delete.add_argument("groups", metavar="GROUP", nargs="+")
    delete.add_argument("--if-exists", action="store_true", help="succeed if a group does not exist")
    add_topic_option(delete, "delete only the offsets committed for these")
    delete.set_defaults(action=_delete)

    share_locks.add_parser(commands)
    return top


def _one_of(what: str, names: Sequence[str]) -> Callable[[str], str]:
    """Return a parser of one of the names, in any case: a broker would answer an unknown one with an empty list."""

    def named(text: str) -> str:
        for name in names:
            if name.lower() == text.lower():
                return name
        meant = did_you_mean(text, names) or f", but {', '.join(names)}"
        raise argparse.ArgumentTypeError(f"there is no {what} {text}{meant}")

    return named


def _list(client: Client, options: argparse.Namespace) -> None:
    found = groups.list_groups(client, options.state, options.type)
    if options.json:
        names = {"group_id": "group"}
        print_json([{names.get(key, key): value for key, value in each._asdict().items()} for each in found])
    elif found:
        print_table(["group", "state", "type", "protocol_type"], [[cell or "-" for cell in each] for each in found])


def _describe(client: Client, options: argparse.Namespace) -> None:
    names = options.groups or [each.group_id for each in groups.list_groups(client)]
    found = [describe_any_group(client, name) for name in names]
    if options.json:
        print_json([group_facts(group) for group in found])
        return
    for index, group in enumerate(found):
        if index:
            print()
        print_group(group)


def _delete(client: Client, options: argparse.Namespace) -> None:
    for name in options.groups:
        try:
            facts, sentence = _delete_one(client, name, options)
        except KafkaError as error:
            if error.code is not ErrorCode.GROUP_ID_NOT_FOUND or not options.if_exists:
                raise
            facts, sentence = {"group": name, "deleted": False}, f"there is no group {name}"
        print(json.dumps(facts) if options.json else sentence)


def _delete_one(client: Client, name: str, options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Delete a group or its offsets; return the result as JSON facts and as a sentence."""
    if not options.topic:
        groups.delete_group(client, name)
        return {"group": name, "deleted": True}, f"deleted group {name}"
    if describe_any_group(client, name).type == SHARE:
        topics = whole_topics(options.topic)
        delete_share_offsets(client, name, topics)
        sentence = f"group {name}: deleted its start offsets in {counted(len(topics), 'topic')}, where it begins anew"
        return {"group": name, "deleted": False, "topics": topics}, sentence
    places = named_partitions(client, options.topic)
    groups.delete_offsets(client, name, places)
    forgotten = [{"topic": topic, "partition": partition} for topic, partition in places]
    sentence = f"group {name}: deleted what it committed for {counted(len(places), 'partition')}"
    return {"group": name, "deleted": False, "offsets": forgotten}, sentence
