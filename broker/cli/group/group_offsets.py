"""`barnabas groups offsets` and `barnabas groups reset`: a group's committed offsets, its lag, and resetting them.

Two lags. `lag` is Kafka's: log end offset less committed offset. `lag_committed` counts to the last stable offset
instead, which is the limit of a read_committed consumer, and is never below 0. Both count offsets: a transaction's
marker takes one and is no record. A share group has start offsets instead: broker/cli/group/share_offsets.py.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from barnabas.broker.cli.group.share_offsets import SHARE_COLUMNS, share_rows, start_offsets
from barnabas.broker.cli.terminal.options import whole
from barnabas.broker.cli.terminal.output import print_json, print_table
from barnabas.broker.cli.terminal.topic_choice import add_topic_option, named_partitions
from barnabas.client.admin import groups
from barnabas.client.admin.group_descriptions import SHARE, GroupInfo
from barnabas.client.admin.newer_groups import describe_any_group
from barnabas.client.admin.offset_resets import has_members, nearest_offset, offset_since
from barnabas.client.admin.share_offsets import alter_share_offsets
from barnabas.client.client import Client
from barnabas.client.metadata import TopicPartition
from barnabas.client.near_names import did_you_mean
from barnabas.client.offsets import (
    EARLIEST,
    LATEST,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    commit_offsets,
    committed_offsets,
    list_offsets,
)
from barnabas.protocol.errors import ErrorCode, KafkaError

Partitions = Mapping[TopicPartition, int]
_OFFSET_COLUMNS = ["topic", "partition", "current_offset", "log_end_offset", "lag", "last_stable_offset"]
_OFFSET_COLUMNS += ["lag_committed", "member_id", "client_host"]
_RESET_COLUMNS = ["topic", "partition", "current_offset", "new_offset"]


def add_parsers(commands: Any, parents: Sequence[argparse.ArgumentParser]) -> None:
    """Add the parsers of `offsets` and `reset`. `commands`: the result of argparse's add_subparsers."""
    offsets = commands.add_parser(
        "offsets", parents=parents, help="print the committed offsets of a group, or where it starts, and its lag"
    )
    offsets.add_argument("group", metavar="GROUP")
    add_topic_option(offsets, "only for these")
    offsets.set_defaults(action=_show)

    reset = commands.add_parser(
        "reset", parents=parents, help="change the committed offsets of a group without members"
    )
    reset.add_argument("group", metavar="GROUP")
    which = reset.add_mutually_exclusive_group(required=True)
    add_topic_option(which, "change it in these")
    which.add_argument("--all-topics", action="store_true", help="change it in every partition that has one")
    reset.add_argument("--execute", action="store_true", help="make the change; without it, the change is only shown")
    where = reset.add_mutually_exclusive_group(required=True)
    where.add_argument("--to-earliest", action="store_true", help="to the first record")
    where.add_argument("--to-latest", action="store_true", help="to the end, after the last record")
    where.add_argument("--to-offset", type=whole, metavar="N", help="to this offset, or the nearest one in the log")
    where.add_argument(
        "--to-datetime", type=time_ms, metavar="TIME", help="to the first record at or after this time (ISO 8601)"
    )
    where.add_argument("--shift-by", type=int, metavar="N", help="N records ahead, or back if N is negative")
    reset.set_defaults(action=_reset)


# --- offsets ---


def _show(client: Client, options: argparse.Namespace) -> None:
    info = describe_any_group(client, options.group)
    if info.type == SHARE:
        _show_share_group(client, info, options)
        return
    committed = committed_offsets(client, options.group, require_stable=False)
    readers = {place: member for member in info.members for place in member.assignment or ()}
    places = sorted(committed.keys() | readers.keys())
    if options.topic:
        chosen = set(named_partitions(client, options.topic))
        places = [place for place in places if place in chosen]
    stable, ends = both_ends(client, places)
    rows = [standing(place, committed.get(place), ends.get(place), stable.get(place)) for place in places]
    for place, row in zip(places, rows, strict=True):
        reader = readers.get(place)
        row |= {"member_id": reader and reader.member_id, "client_host": reader and reader.client_host}
    if options.json:
        print_json({"group": info.group_id, "state": info.state, "offsets": rows})
    elif rows:
        print_table(_OFFSET_COLUMNS, [[_cell(row[column]) for column in _OFFSET_COLUMNS] for row in rows])
    else:
        print(f"group {info.group_id} has committed nothing" + (" there" if options.topic else ""), file=sys.stderr)


def _show_share_group(client: Client, info: GroupInfo, options: argparse.Namespace) -> None:
    readers: dict[TopicPartition, list[str]] = {}
    for member in info.members:
        for place in member.assignment or ():
            readers.setdefault(place, []).append(member.member_id)
    chosen = set(named_partitions(client, options.topic)) if options.topic else None
    rows = share_rows(client, info.group_id, readers, chosen)
    if options.json:
        print_json({"group": info.group_id, "state": info.state, "offsets": rows})
    elif rows:
        shown = [row | {"members": ",".join(row["members"]) or None} for row in rows]
        print_table(SHARE_COLUMNS, [[_cell(row[column]) for column in SHARE_COLUMNS] for row in shown])
    else:
        print(f"group {info.group_id} has begun nothing" + (" there" if options.topic else ""), file=sys.stderr)


def standing(place: TopicPartition, current: int | None, end: int | None, stable: int | None) -> dict[str, Any]:
    """Return a group's offset in a partition, and its two lags; None for unknown values."""
    return {
        "topic": place[0],
        "partition": place[1],
        "current_offset": current,
        "log_end_offset": end,
        "lag": None if current is None or end is None else end - current,
        "last_stable_offset": stable,
        "lag_committed": None if current is None or stable is None else max(0, stable - current),
    }


def both_ends(client: Client, places: Sequence[TopicPartition]) -> tuple[Partitions, Partitions]:
    """Return last stable offsets and log end offsets.

    No request returns both. The order of the two requests matters, as both offsets only grow: with writes in between,
    no stable offset is above its log end offset.
    """
    stable = log_ends(client, places, READ_COMMITTED)
    return stable, log_ends(client, places)


def log_ends(client: Client, places: Sequence[TopicPartition], isolation: int = READ_UNCOMMITTED) -> Partitions:
    """Return log end offsets, or with READ_COMMITTED last stable ones, without partitions that no longer exist."""
    topics = client.refresh({topic for topic, _ in places}, client.deadline()).topics
    wanted = {(name, number): LATEST for name, number in places if name in topics and number in topics[name].partitions}
    return {place: found.offset for place, found in list_offsets(client, wanted, isolation=isolation).items()}


def _cell(value: object) -> str:
    return "-" if value is None else str(value)


# --- reset ---


def _reset(client: Client, options: argparse.Namespace) -> None:
    is_share = _idle_type(client, options.group) == SHARE
    present: Mapping[TopicPartition, int | None]
    present = (
        start_offsets(client, options.group)
        if is_share
        else committed_offsets(client, options.group, require_stable=False)
    )
    places = sorted(present) if options.all_topics else named_partitions(client, options.topic)
    known = {place: offset for place, offset in present.items() if offset is not None}
    goals = _goals(client, places, known, options)
    if options.execute and goals:
        change = alter_share_offsets if is_share else commit_offsets
        change(client, options.group, goals)
    rows: list[dict[str, Any]] = [
        {"topic": place[0], "partition": place[1], "current_offset": known.get(place), "new_offset": goal}
        for place, goal in goals.items()
    ]
    if options.json:
        print(json.dumps({"group": options.group, "executed": options.execute, "offsets": rows}, indent=2))
        return
    print_table(_RESET_COLUMNS, [[_cell(row[column]) for column in _RESET_COLUMNS] for row in rows])
    if not options.execute:
        print("nothing was changed: --execute does it", file=sys.stderr)


def _idle_type(client: Client, group: str) -> str | None:
    """Return the type of a group without members; None if there is no such group yet. Raises NON_EMPTY_GROUP."""
    try:
        info = describe_any_group(client, group)
    except KafkaError as error:
        if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
            raise
        meant = did_you_mean(group, (each.group_id for each in groups.list_groups(client)))
        if meant:
            print(f"barnabas: there is no group {group} yet{meant}", file=sys.stderr)
        return None
    if info.state != groups.EMPTY:
        raise has_members(group, info.state, len(info.members))
    return info.type


def _goals(
    client: Client, places: Sequence[TopicPartition], committed: Partitions, options: argparse.Namespace
) -> dict[TopicPartition, int]:
    """Return the new offset of each partition, within its existing offsets, as Kafka's tool does."""
    first, after = (list_offsets(client, dict.fromkeys(places, which)) for which in (EARLIEST, LATEST))
    if options.to_datetime is not None:
        found = list_offsets(client, dict.fromkeys(places, options.to_datetime))
        return {place: offset_since(found[place].offset, after[place].offset) for place in places}
    goals: dict[TopicPartition, int] = {}
    for place in places:
        if options.to_earliest:
            goal = first[place].offset
        elif options.to_latest:
            goal = after[place].offset
        elif options.to_offset is not None:
            goal = options.to_offset
        elif place in committed:
            goal = committed[place] + options.shift_by
        else:
            what = f"the group has committed no offset for {place[0]}-{place[1]} that could be shifted"
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, what)
        goals[place] = nearest_offset(goal, first[place].offset, after[place].offset)
    return goals


def time_ms(text: str) -> int:
    """Return ISO 8601 as ms since 1970, 0 for earlier times; without a zone it is UTC, as for Kafka's tool."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time like 2026-01-31T12:00:00.000") from None
    return max(0, round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000))
