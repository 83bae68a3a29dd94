"""`barnabas groups`: list, describe, offsets, reset, delete. Offsets: broker/cli/group/group_offsets.py."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from barnabas.broker.cli.group import group_offsets
from barnabas.broker.cli.terminal.options import Parser, connected, shared_options
from barnabas.broker.cli.terminal.output import counted, print_json, print_table
from barnabas.broker.cli.terminal.topic_choice import add_topic_option, named_partitions
from barnabas.client.admin import groups
from barnabas.client.admin.group_descriptions import CLASSIC, CONSUMER, GroupInfo, MemberDescription
from barnabas.client.client import Client
from barnabas.client.metadata import TopicPartition
from barnabas.client.near_names import did_you_mean
from barnabas.protocol.errors import ErrorCode, KafkaError

_DESCRIBED_TYPES = ("", CLASSIC, CONSUMER)


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
        prog="barnabas groups",
        description="List, describe, reset, delete groups of consumers.",
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
    describe.add_argument("groups", metavar="GROUP", nargs="*", help="default: all classic and consumer groups")
    describe.set_defaults(action=_describe)

    group_offsets.add_parsers(commands, parents)

    delete = commands.add_parser("delete", parents=parents, help="delete groups, or some committed offsets of one")
    delete.add_argument("groups", metavar="GROUP", nargs="+")
    delete.add_argument("--if-exists", action="store_true", help="succeed if a group does not exist")
    add_topic_option(delete, "delete only the offsets committed for these")
    delete.set_defaults(action=_delete)
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
    names = options.groups or [each.group_id for each in groups.list_groups(client) if each.type in _DESCRIBED_TYPES]
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
    facts: dict[str, Any] = {
        "group": group.group_id,
        "type": group.type,
        "state": group.state,
        "protocol_type": group.protocol_type,
        "protocol": group.protocol,
        "coordinator": f"{host}:{port}",
    }
    if group.type == CONSUMER:
        facts |= {"group_epoch": group.group_epoch, "assignment_epoch": group.assignment_epoch}
    return facts | {"members": [_member_facts(member) for member in group.members]}


def _member_facts(member: MemberDescription) -> dict[str, Any]:
    facts = member._asdict()
    del facts["consumer"]
    facts["assignment"] = None if member.assignment is None else by_topic(member.assignment)
    if member.consumer is not None:
        epoch, target, regex, kind = member.consumer
        facts |= {"regex": regex, "epoch": epoch, "target": by_topic(target), "type": kind}
    return facts


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Return the partition numbers, by topic."""
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, []).append(partition)
    return topics


def _print_group(group: GroupInfo) -> None:
    parts = [group.group_id, group.state]
    if group.type == CONSUMER:
        parts += [f"type {CONSUMER}", f"assignor {group.protocol}"]
        parts += [f"group epoch {group.group_epoch}", f"assignment epoch {group.assignment_epoch}"]
    else:
        parts += [f"protocol {group.protocol_type}" + (f" {group.protocol}" if group.protocol else "")]
    print("  ".join([*parts, f"{len(group.members)} members"]))
    if group.members:
        columns = ["member_id", "instance_id", "client_id", "client_host", "assignment"]
        if group.type == CONSUMER:
            columns += ["target", "epoch", "subscription"]
        print_table(columns, [_cells(member) for member in group.members])


def _cells(member: MemberDescription) -> list[str]:
    cells = [member.member_id, member.instance_id or "-", member.client_id, member.client_host]
    cells += [_assigned(member.assignment)]
    if member.consumer is not None:
        epoch, target, regex, _ = member.consumer
        subscription = [*(member.topics or ()), *([f"/{regex}/"] if regex else [])]
        cells += [_assigned(target), str(epoch), ",".join(subscription) or "-"]
    return cells


def _assigned(partitions: Iterable[TopicPartition] | None) -> str:
    topics = by_topic(partitions or ())
    return " ".join(f"{topic}:{','.join(map(str, numbers))}" for topic, numbers in topics.items()) or "-"


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
    places = named_partitions(client, options.topic)
    groups.delete_offsets(client, name, places)
    forgotten = [{"topic": topic, "partition": partition} for topic, partition in places]
    sentence = f"group {name}: deleted what it committed for {counted(len(places), 'partition')}"
    return {"group": name, "deleted": False, "offsets": forgotten}, sentence
