"""kafka-groups, and kafka-consumer-groups: listing and describing. Changes of groups are in `group_changes`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence

from barnabas.broker.cli.group.group_offsets import log_ends
from barnabas.broker.cli.kafka.flags import (
    ALONE,
    MAYBE_VALUE,
    VALUE,
    CommandRefused,
    Options,
    check_only_with,
    check_together,
    cluster,
    error_text,
    need,
    read,
    says_version,
)
from barnabas.broker.cli.kafka.group.group_changes import consumer_groups, delete_groups, delete_offsets, reset_offsets
from barnabas.client.addresses import Address
from barnabas.client.admin import groups
from barnabas.client.admin.group_descriptions import CLASSIC, GroupInfo, MemberDescription
from barnabas.client.client import Client
from barnabas.client.errors import ConnectionFailed
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import CommittedPosition, committed_positions
from barnabas.protocol.errors import ErrorCode, KafkaError

_ACTIONS = ("list", "describe", "delete", "reset-offsets", "delete-offsets", "validate-regex")
_GOALS = ("to-offset", "to-datetime", "by-duration", "to-earliest", "to-latest", "to-current", "shift-by", "from-file")
_GOALS_ALONE = ("to-earliest", "to-latest", "to-current")
_FLAGS = {
    **dict.fromkeys([*_ACTIONS[:-1], *_GOALS_ALONE, "all-groups", "all-topics", "dry-run", "execute"], ALONE),
    **dict.fromkeys(["export", "members", "offsets", "verbose"], ALONE),
    **dict.fromkeys([goal for goal in _GOALS if goal not in _GOALS_ALONE], VALUE),
    **dict.fromkeys(["group", "topic", "timeout", "validate-regex"], VALUE),
    **dict.fromkeys(["state", "type"], MAYBE_VALUE),
}
_PURPOSE = "This tool helps to list, describe, delete and manage the offsets of consumer groups."
_NO_EXECUTE = (
    "WARN: No action will be performed as the --execute option is missing. In version 5.0, this command will "
    "require either --dry-run or --execute to be specified. You should add the --dry-run option explicitly if you "
    "are scripting this command and want to keep the current default behavior without prompting."
)
_STATES = ("CompletingRebalance", "Assigning", "Stable", "PreparingRebalance", "Reconciling", "Empty", "Dead")
_TYPES = ("Classic", "Consumer")
_REBALANCING = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")
_COLUMN = 15
_NOTHING = "-"


def kafka_consumer_groups(arguments: Sequence[str]) -> int:
    """List, describe, delete groups, and reset their offsets.

    An error of the broker is printed on stdout, with status 0: so does Kafka's tool, and scripts look at the text.
    """
    options = read(_FLAGS, arguments)
    if says_version(options, arguments, _PURPOSE, _FLAGS):
        return 0
    return executed("consumer", _DO[_checked(options)], options)


def executed(kind: str, action: Callable[[Client, Options], int | None], options: Options, refused: int = 0) -> int:
    """Run an action on groups of a kind, and return its exit status, if any, or 0. The errors are printed on stdout.

    refused: the status after an error of the broker.
    """
    try:
        with cluster(options) as client:
            return action(client, options) or 0
    except ConnectionFailed as error:
        print(f"\nError: Executing {kind} group command failed due to {error}")
        return 1
    except KafkaError as error:
        print(f"\nError: Executing {kind} group command failed due to {error_text(error)}")
        return refused


def _checked(options: Options) -> str:
    """Return the action. CommandRefused if there is none, or flags do not go together."""
    need(options, "bootstrap-server")
    check_only_with(options, dict.fromkeys(["members", "verbose", "offsets"], ("describe",)))
    if options.has("describe"):
        check_describe(options)
    which = [options.has("group"), options.has("all-groups")]
    if options.has("delete"):
        if not any(which):
            raise CommandRefused("Option [delete] takes one of these options: [all-groups], [group]")
        if options.has("topic"):
            raise CommandRefused("The consumer does not support topic-specific offset deletion from a consumer group.")
    if options.has("delete-offsets") and not (options.has("group") and options.has("topic")):
        raise CommandRefused("Option [delete-offsets] takes the following options: [topic], [group]")
    if options.has("reset-offsets"):
        _check_reset(options, any(which))
    check_together(options, "group", ["all-groups", "list"])
    for goal in _GOALS:
        check_together(options, goal, [other for other in reversed(_GOALS) if other != goal])
    check_together(options, "topic", ["list", "describe"])
    actions = [action for action in _ACTIONS if options.has(action)]
    if len(actions) != 1:
        raise CommandRefused(f"Command must include exactly one action: {', '.join(f'--{each}' for each in _ACTIONS)}")
    return actions[0]


def check_describe(options: Options, views: Sequence[str] = ("members", "offsets", "state")) -> None:
    """Raise CommandRefused if the options of --describe, of which these exclude each other, do not go together."""
    if not (options.has("group") or options.has("all-groups")):
        raise CommandRefused("Option [describe] takes one of these options: [all-groups], [group]")
    if sum(map(options.has, views)) > 1:
        shown = ", ".join(f"[{view}]" for view in views)
        raise CommandRefused(f"Option [describe] takes at most one of these options: {shown}")
    if options.values("state"):
        raise CommandRefused("Option [describe] does not take a value for [state]")


def check_execution(options: Options) -> None:
    """Raise CommandRefused if --reset-offsets has not one of --execute and --dry-run."""
    _check_one_of_both(options)
    if not (options.has("dry-run") or options.has("execute")):
        raise CommandRefused("Option [reset-offsets] takes the option: [execute] or [dry-run]")


def _check_one_of_both(options: Options) -> None:
    if options.has("dry-run") and options.has("execute"):
        raise CommandRefused("Option [reset-offsets] only accepts one of [execute] and [dry-run]")


def _check_reset(options: Options, has_group: bool) -> None:
    _check_one_of_both(options)
    if not (options.has("dry-run") or options.has("execute")):
        print(_NO_EXECUTE, file=sys.stderr)
    if not has_group:
        raise CommandRefused("Option [reset-offsets] takes one of these options: [all-groups], [group]")


# --- listing ---


def _list(client: Client, options: Options) -> None:
    states = _filter(options, "state", _STATES, "Invalid state list '{}'. Valid states are: {}")
    types = _filter(options, "type", _TYPES, "Invalid types list '{}'. Valid types are: {}")
    found = consumer_groups(client, states, [each.lower() for each in types])
    if not (options.has("state") or options.has("type")):
        for each in found:
            print(each.group_id)
        return
    width = max([_COLUMN, *(len(each.group_id) for each in found)]) + 10
    rows = [("GROUP", "TYPE", "STATE"), *((each.group_id, each.type.capitalize(), each.state) for each in found)]
    for group, kind, state in rows:
        more = f" {kind:20}" * options.has("type") + f" {state:20}" * options.has("state")
        print(f"{group:{width}}{more}")


def list_in_states(client: Client, options: Options, kind: str, states: Sequence[str]) -> None:
    """List the groups of a newer kind, which can be in these states (--list)."""
    wanted = _filter(options, "state", states, "Invalid state list '{}'. Valid states are: {}")
    found = groups.list_groups(client, wanted, [kind])
    if not options.has("state"):
        for each in found:
            print(each.group_id)
        return
    width = max([_COLUMN, *(len(each.group_id) for each in found)])
    for group, state in [("GROUP", "STATE"), *((each.group_id, each.state) for each in found)]:
        print(f"{group:{width}} {state}")


def _filter(options: Options, flag: str, known: Sequence[str], otherwise: str) -> list[str]:
    """Return the given words of `known`, in any case. CommandRefused for an unknown one."""
    text = options.value(flag)
    by_name = {each.lower(): each for each in known}
    words = [word.strip().lower().replace("_", "") for word in text.split(",")] if text else []
    if not all(word in by_name for word in words):
        raise CommandRefused(otherwise.format(text, ", ".join(known)))
    return [by_name[word] for word in words]


# --- describing ---


def _describe(client: Client, options: Options) -> None:
    names = (
        [each.group_id for each in consumer_groups(client)] if options.has("all-groups") else options.values("group")
    )
    infos = [groups.describe_group(client, name) for name in dict.fromkeys(sorted(names))]
    is_verbose = options.has("verbose")
    for info in infos:
        if options.has("members"):
            _print_if_inactive(info)
            _print_members(info, is_verbose)
        elif options.has("state"):
            if _print_if_inactive(info):
                _print_state(client, info, is_verbose)
        else:
            rows = _standings(client, info)
            if _print_if_inactive(info) and rows:
                _print_offsets(rows, is_verbose)


def _print_if_inactive(info: GroupInfo) -> bool:
    """Print a message if a group is dead, empty or rebalancing; return whether it can be described."""
    if info.state == groups.DEAD:
        print(f"\nError: Consumer group '{info.group_id}' does not exist.")
        return False
    if info.state == groups.EMPTY:
        print(f"\nConsumer group '{info.group_id}' has no active members.", file=sys.stderr)
    elif info.state in _REBALANCING:
        print(f"\nWarning: Consumer group '{info.group_id}' is rebalancing.", file=sys.stderr)
    return True


def _standings(client: Client, info: GroupInfo) -> list[list[str]]:
    """Return a group's offset in each partition: partitions with a consumer first."""
    committed = committed_positions(client, info.group_id, require_stable=False)
    readers = sorted((each for each in info.members if each.assignment), key=lambda each: -len(each.assignment or ()))
    read: list[tuple[TopicPartition, MemberDescription | None]] = [
        (place, reader) for reader in readers for place in sorted(reader.assignment or ())
    ]
    assigned = {place for place, _ in read}
    places = [*read, *((place, None) for place in sorted(committed) if place not in assigned)]
    ends = log_ends(client, [place for place, _ in places])
    return [_standing(info.group_id, place, committed.get(place), ends.get(place), reader) for place, reader in places]


def _standing(
    group: str,
    place: TopicPartition,
    position: CommittedPosition | None,
    end: int | None,
    reader: MemberDescription | None,
) -> list[str]:
    epoch = None if position is None or position.leader_epoch < 0 else position.leader_epoch
    offset = None if position is None else position.offset
    lag = None if offset is None or end is None else end - offset
    who = (None, None, None) if reader is None else (reader.member_id, reader.client_host, reader.client_id)
    return [_NOTHING if cell is None else str(cell) for cell in (group, *place, epoch, offset, end, lag, *who)]


def _print_offsets(rows: Sequence[Sequence[str]], is_verbose: bool) -> None:
    header = ["GROUP", "TOPIC", "PARTITION", "LEADER-EPOCH", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG"]
    header += ["CONSUMER-ID", "HOST", "CLIENT-ID"]
    shown = [[header, *rows][number] for number in range(len(rows) + 1)]
    if not is_verbose:
        shown = [[*row[:3], *row[4:]] for row in shown]
    fixed = [None, None, 10, *[_COLUMN] * (4 if is_verbose else 3), None, None, 0]
    print_columns(shown, fixed)


def print_columns(rows: Sequence[Sequence[str]], widths: Sequence[int | None]) -> None:
    """Print columns below an empty line, as Kafka's tool does."""
    print()
    print_rows(rows, widths)


def print_rows(rows: Sequence[Sequence[str]], widths: Sequence[int | None]) -> None:
    """Print columns of a fixed width, or (None) as wide as necessary, from 15 up."""
    found = [
        max(_COLUMN, *(len(row[at]) for row in rows)) if at_least is None else at_least
        for at, at_least in enumerate(widths)
    ]
    for row in rows:
        print(" ".join(cell.ljust(width) for cell, width in zip(row, found, strict=True)))


def _print_members(info: GroupInfo, is_verbose: bool) -> None:
    has_instances = any(member.instance_id for member in info.members)
    header = ["GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS"]
    header += ["CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT"]
    widths: list[int | None] = [None, None, 17, None, None, _COLUMN, _COLUMN, 20, _COLUMN, 20]
    rows = [header, *(_member_row(info, member) for member in info.members)]
    for at in (2, 7, 9):
        widths[at] = max(widths[at] or 0, *(len(row[at]) for row in rows))
    left_out = ({2} if not has_instances else set()) | (set() if is_verbose else {6, 7, 8, 9})
    kept = [at for at in range(len(header)) if at not in left_out]
    print_columns([[row[at] for at in kept] for row in rows], [widths[at] for at in kept])


def _member_row(info: GroupInfo, member: MemberDescription) -> list[str]:
    assignment, own = member.assignment or [], member.consumer
    epochs = (_NOTHING, _NOTHING) if own is None else (str(own.epoch), str(info.assignment_epoch))
    row = [info.group_id, member.member_id, member.instance_id or "", member.client_host, member.client_id]
    target = _NOTHING if own is None else assigned(own.target)
    return [*row, str(len(assignment)), epochs[0], assigned(assignment), epochs[1], target]


def assigned(places: Iterable[TopicPartition], otherwise: str = _NOTHING) -> str:
    """Return `orders:0,1;payments:2`; `otherwise` for none."""
    by_topic: dict[str, list[str]] = {}
    for topic, number in sorted(places):
        by_topic.setdefault(topic, []).append(str(number))
    return ";".join(f"{topic}:{','.join(numbers)}" for topic, numbers in by_topic.items()) or otherwise


def coordinator_text(client: Client, where: Address, gap: str = "  ") -> str:
    """Return the address and the id of a group's coordinator."""
    node = next((node for node, address in client.cluster.brokers.items() if address == where), -1)
    return f"{where.host}:{where.port}{gap}({node})"


def _print_state(client: Client, info: GroupInfo, is_verbose: bool) -> None:
    coordinator = coordinator_text(client, info.coordinator)
    header = ["GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE"]
    row = [info.group_id, coordinator, info.protocol or _NOTHING, info.state]
    widths: list[int | None] = [None, max(25, len(coordinator)), 20, 20]
    if is_verbose:
        epochs = (info.group_epoch, info.assignment_epoch)
        header += ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"]
        row += [_NOTHING if info.type == CLASSIC or epoch is None else str(epoch) for epoch in epochs]
        widths += [_COLUMN, 25]
    print_columns([[*header, "#MEMBERS"], [*row, str(len(info.members))]], [*widths, 0])


def _validate_regex(client: Client, options: Options) -> None:
    from barnabas.broker.runtime.patterns import InvalidPattern, compile_pattern

    text = options.value("validate-regex") or ""
    try:
        compile_pattern(text)
    except InvalidPattern as error:
        raise KafkaError(ErrorCode.INVALID_REGULAR_EXPRESSION, str(error)) from error
    print(f"The regex '{text}' is valid.")


_DO = {
    "list": _list,
    "describe": _describe,
    "delete": delete_groups,
    "reset-offsets": reset_offsets,
    "delete-offsets": delete_offsets,
    "validate-regex": _validate_regex,
}


# --- kafka-groups ---


def kafka_groups(arguments: Sequence[str]) -> int:
    """List groups of every type."""
    flags = {**dict.fromkeys(["list", "consumer", "share", "streams"], ALONE), "group-type": VALUE, "protocol": VALUE}
    options = read(flags, arguments)
    if says_version(options, arguments, "This tool helps to list groups of all types.", flags):
        return 0
    if not options.has("bootstrap-server"):
        raise CommandRefused("Missing required option(s) [bootstrap-server]")
    if not options.has("list"):
        raise CommandRefused("Command must include exactly one action: --list.")
    kind, protocol = (options.value("group-type") or "").lower(), options.value("protocol")
    if kind and kind not in groups.TYPES:
        raise CommandRefused("--group-type must be a valid group type.")
    try:
        with cluster(options) as client:
            if options.has("consumer"):
                found = consumer_groups(client)
            else:
                wanted = [kind] if kind else [each for each in ("share", "streams") if options.has(each)]
                found = groups.list_groups(client, (), wanted)
    except KafkaError as error:
        raise CommandRefused(error_text(error)) from error
    shown = [each for each in found if protocol is None or each.protocol_type == protocol]
    width = max([20, *(len(each.group_id) for each in shown)])
    print(f"{'GROUP':{width}} {'TYPE':20} {'PROTOCOL':20}")
    for each in shown:
        print(f"{each.group_id:{width}} {each.type.capitalize():20} {each.protocol_type:20}")
    return 0
