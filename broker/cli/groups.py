"""`barnabas groups`: list, describe, offsets, reset, delete. What is about offsets: broker/cli/group_offsets.py."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from typing import Any

from barnabas.broker.cli import group_offsets
from barnabas.broker.cli.terminal.options import Parser, connected, shared_options
from barnabas.broker.cli.terminal.output import counted, print_json, print_table
from barnabas.client.admin import groups
from barnabas.client.admin.groups import GroupInfo, GroupMember
from barnabas.client.client import Client
from barnabas.protocol.errors import ErrorCode, KafkaError


def run(arguments: Sequence[str]) -> int:
    """The command's exit status."""
    options = parser().parse_args(arguments)
    with connected(options) as client:
        options.action(client, options)
    return 0


def parser() -> argparse.ArgumentParser:
    """What may be said."""
    parents = shared_options(again=True)
    top = Parser(
        prog="barnabas groups",
        description="List, describe, reset, delete groups of consumers.",
        parents=shared_options(),
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    listing = commands.add_parser("list", parents=parents, help="the groups there are, with their states")
    listing.add_argument(
        "--state", action="append", type=_one_of("state", groups.STATES), default=[], metavar="STATE", help="only in it"
    )
    listing.add_argument(
        "--type", action="append", type=_one_of("type", groups.TYPES), default=[], metavar="TYPE", help="only of it"
    )
    listing.set_defaults(action=_list)

    describe = commands.add_parser("describe", parents=parents, help="state, members and who reads what")
    describe.add_argument("groups", metavar="GROUP", nargs="*", help="default: all classic groups")
    describe.set_defaults(action=_describe)

    group_offsets.add_parsers(commands, parents)

    delete = commands.add_parser("delete", parents=parents, help="delete groups, or some of what one committed")
    delete.add_argument("groups", metavar="GROUP", nargs="+")
    delete.add_argument("--if-exists", action="store_true", help="be content if a group is not there")
    group_offsets.add_topic_option(delete, "forget only what was committed for these")
    delete.set_defaults(action=_delete)
    return top


def _one_of(what: str, names: Sequence[str]) -> Callable[[str], str]:
    """Takes one of the names, in whatever case: a broker would answer one that is none with an empty list."""

    def named(text: str) -> str:
        for name in names:
            if name.lower() == text.lower():
                return name
        raise argparse.ArgumentTypeError(f"there is no {what} {text}, but {', '.join(names)}")

    return named


def _list(client: Client, options: argparse.Namespace) -> None:
    found = groups.list_groups(client, options.state, options.type)
    if options.json:
        names = {"group_id": "group"}
        print_json([{names.get(key, key): value for key, value in each._asdict().items()} for each in found])
    elif found:
        print_table(["group", "state", "type", "protocol_type"], [[cell or "-" for cell in each] for each in found])


def _describe(client: Client, options: argparse.Namespace) -> None:
    names = options.groups or [each.group_id for each in groups.list_groups(client) if each.type in ("", "classic")]
    found = [groups.describe_group(client, name) for name in names]
    if options.json:
        print_json([_facts(group) for group in found])
        return
    for index, group in enumerate(found):
        if index:
            print()
        _print_group(group)


def _facts(group: GroupInfo) -> dict[str, Any]:
    host, port = group.coordinator
    return {
        "group": group.group_id,
        "state": group.state,
        "protocol_type": group.protocol_type,
        "protocol": group.protocol,
        "coordinator": f"{host}:{port}",
        "members": [
            member._asdict() | {"assignment": None if member.assignment is None else by_topic(member)}
            for member in group.members
        ],
    }


def by_topic(member: GroupMember) -> dict[str, list[int]]:
    """The partitions assigned to a member."""
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(member.assignment or ()):
        topics.setdefault(topic, []).append(partition)
    return topics


def _print_group(group: GroupInfo) -> None:
    parts = [group.group_id, group.state]
    parts += [f"protocol {group.protocol_type}" + (f" {group.protocol}" if group.protocol else "")]
    print("  ".join([*parts, f"{len(group.members)} members"]))
    if group.members:
        columns = ["member_id", "instance_id", "client_id", "client_host", "assignment"]
        print_table(columns, [_cells(member) for member in group.members])


def _cells(member: GroupMember) -> list[str]:
    assigned = [f"{topic}:{','.join(map(str, numbers))}" for topic, numbers in by_topic(member).items()]
    return [
        member.member_id,
        member.instance_id or "-",
        member.client_id,
        member.client_host,
        " ".join(assigned) or "-",
    ]


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
    """What was done, for programs and for people."""
    if not options.topic:
        groups.delete_group(client, name)
        return {"group": name, "deleted": True}, f"deleted group {name}"
    places = group_offsets.named_partitions(client, options.topic)
    groups.delete_offsets(client, name, places)
    forgotten = [{"topic": topic, "partition": partition} for topic, partition in places]
    sentence = f"group {name} forgot what it committed for {counted(len(places), 'partition')}"
    return {"group": name, "deleted": False, "offsets": forgotten}, sentence
