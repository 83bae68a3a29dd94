"""The description of a group, as JSON facts and as text. Each type of group has its own columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from barnabas.broker.cli.terminal.output import print_table
from barnabas.client.admin.group_descriptions import CLASSIC, CONSUMER, SHARE, STREAMS, GroupInfo, MemberDescription
from barnabas.client.metadata import TopicPartition

_COLUMNS: Mapping[str, list[str]] = {
    CLASSIC: ["member_id", "instance_id", "client_id", "client_host", "assignment"],
    CONSUMER: [
        *("member_id", "instance_id", "client_id", "client_host", "assignment"),
        *("target", "epoch", "subscription"),
    ],
    SHARE: ["member_id", "client_id", "client_host", "assignment", "epoch", "subscription"],
    STREAMS: [
        *("member_id", "instance_id", "client_id", "client_host", "process_id"),
        *("active", "standby", "warmup", "target", "epoch"),
    ],
}


def group_facts(group: GroupInfo) -> dict[str, Any]:
    """Return the description for programs."""
    host, port = group.coordinator
    facts: dict[str, Any] = {
        "group": group.group_id,
        "type": group.type,
        "state": group.state,
        "protocol_type": group.protocol_type,
        "protocol": group.protocol,
        "coordinator": f"{host}:{port}",
    }
    if group.type != CLASSIC:
        facts |= {"group_epoch": group.group_epoch, "assignment_epoch": group.assignment_epoch}
    return facts | {"members": [_member_facts(member) for member in group.members]}


def _member_facts(member: MemberDescription) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "topics": member.topics,
        "assignment": None if member.assignment is None else by_topic(member.assignment),
    }
    if member.consumer is not None:
        epoch, target, regex, kind = member.consumer
        facts |= {"regex": regex, "epoch": epoch, "target": by_topic(target), "type": kind}
    if member.share is not None:
        facts |= member.share._asdict()
    if member.streams is not None:
        facts |= member.streams._asdict()
    return facts


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Return the partition numbers, by topic."""
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, []).append(partition)
    return topics


def print_group(group: GroupInfo) -> None:
    """Print the description for people."""
    parts = [group.group_id, group.state]
    if group.type == CLASSIC:
        parts += [f"protocol {group.protocol_type}" + (f" {group.protocol}" if group.protocol else "")]
    else:
        parts += [f"type {group.type}", *([f"assignor {group.protocol}"] if group.protocol else [])]
        parts += [f"group epoch {group.group_epoch}", f"assignment epoch {group.assignment_epoch}"]
    print("  ".join([*parts, f"{len(group.members)} members"]))
    if group.members:
        columns = _COLUMNS[group.type]
        print_table(columns, [[cells[column] for column in columns] for cells in map(_cells, group.members)])


def _cells(member: MemberDescription) -> dict[str, str]:
    subscription = list(member.topics or ())
    cells = {
        "member_id": member.member_id,
        "instance_id": member.instance_id or "-",
        "client_id": member.client_id,
        "client_host": member.client_host,
        "assignment": _numbered(by_topic(member.assignment or ())),
    }
    if member.consumer is not None:
        epoch, target, regex, _ = member.consumer
        subscription += [f"/{regex}/"] if regex else []
        cells |= {"target": _numbered(by_topic(target)), "epoch": str(epoch)}
    if member.share is not None:
        cells["epoch"] = str(member.share.epoch)
    if member.streams is not None:
        tasks = member.streams
        cells |= {"process_id": tasks.process_id, "epoch": str(tasks.epoch)}
        cells |= {name: _numbered(getattr(tasks, name)) for name in ("active", "standby", "warmup", "target")}
    return cells | {"subscription": ",".join(subscription) or "-"}


def _numbered(partitions: Mapping[str, Iterable[int]]) -> str:
    return " ".join(f"{name}:{','.join(map(str, numbers))}" for name, numbers in partitions.items()) or "-"
