"""kafka-share-groups (KIP-932): listing, describing and deleting share groups, and where they start in a topic."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial

from barnabas.broker.cli.kafka.flags import (
    ALONE,
    MAYBE_VALUE,
    VALUE,
    CommandRefused,
    Options,
    check_only_with,
    check_together,
    error_text,
    need,
    read,
    refusal,
    says_version,
)
from barnabas.broker.cli.kafka.group.group_changes import (
    OF_THE_GROUP,
    Goals,
    check_exist,
    delete_each,
    named_groups,
    new_offsets,
    outcome_text,
    partitions_of,
    print_error,
    print_reset,
    print_undeleted,
    print_unplanned,
    read_plan,
    within,
)
from barnabas.broker.cli.kafka.group.groups import (
    assigned,
    check_describe,
    check_execution,
    coordinator_text,
    executed,
    list_in_states,
    print_columns,
)
from barnabas.client.admin import groups
from barnabas.client.admin.group_descriptions import SHARE, GroupInfo
from barnabas.client.admin.newer_groups import describe_share_group
from barnabas.client.admin.share_offsets import (
    ShareOffset,
    alter_share_offsets,
    delete_share_offsets,
    share_offsets,
)
from barnabas.client.client import Client
from barnabas.client.errors import ConnectionFailed
from barnabas.client.metadata import TopicPartition
from barnabas.protocol.errors import ErrorCode, KafkaError

_ACTIONS = ("list", "describe", "delete", "reset-offsets", "delete-offsets")
_SCOPES = ("topic", "all-topics", "from-file")
_GOALS_ALONE = ("to-current", "to-earliest", "to-latest")
_GOALS = ("to-offset", "to-datetime", "to-earliest", "to-latest", "to-current", "from-file")
_FLAGS = {
    **dict.fromkeys([*_ACTIONS, *_GOALS_ALONE, "all-groups", "all-topics"], ALONE),
    **dict.fromkeys(["dry-run", "execute", "export", "members", "offsets", "verbose"], ALONE),
    **dict.fromkeys(["group", "topic", "timeout", "from-file", "to-datetime", "to-offset"], VALUE),
    "state": MAYBE_VALUE,
}
_ONLY_WITH = {**dict.fromkeys(["members", "offsets", "verbose"], ("describe",)), "state": ("describe", "list")}
_PURPOSE = "This tool helps to list, describe, delete and manage the offsets of share groups."
_STATES = ("Stable", "Dead", "Empty")
_COLUMN = 15
_NOTHING = "-"


def kafka_share_groups(arguments: Sequence[str]) -> int:
    """List, describe and delete share groups, and reset or delete their offsets.

    An error of the broker is printed on stdout, with status 0, as by Kafka's tool.
    """
    options = read(_FLAGS, arguments)
    if says_version(options, arguments, _PURPOSE, _FLAGS):
        return 0
    return executed("share", _DO[_checked(options)], options)


def _checked(options: Options) -> str:
    """Return the action. CommandRefused if there is none, or flags do not go together."""
    check_only_with(options, _ONLY_WITH)
    need(options, "bootstrap-server")
    for action, check in _CHECKS.items():
        if options.has(action):
            check(options)
    check_together(options, "group", ["all-groups", "list"])
    check_together(options, "topic", ["list", "describe"])
    actions = [action for action in _ACTIONS if options.has(action)]
    if len(actions) != 1:
        every = ", ".join(f"--{each}" for each in _ACTIONS)
        raise CommandRefused(f"Command must include exactly one action: {every}.")
    return actions[0]


def _check_delete(options: Options) -> None:
    which = [options.has("group"), options.has("all-groups")]
    if not any(which):
        raise CommandRefused("Option [delete] takes the options [group] or [all-groups].")
    if all(which):
        raise CommandRefused("Option [delete] takes either [group] or [all-groups], not both.")
    if options.has("topic") or options.has("all-topics"):
        raise CommandRefused("Option [delete] does not take the options [topic] or [all-topics].")


def _check_delete_offsets(options: Options) -> None:
    if not (options.has("group") and options.has("topic")):
        raise CommandRefused("Option [delete-offsets] takes the following options: [group], [topic]")


def _check_reset(options: Options) -> None:
    check_execution(options)
    if not options.has("group"):
        raise CommandRefused("Option [reset-offsets] takes the option: [group]")
    for choices in (_SCOPES, _GOALS):
        if not any(map(options.has, choices)):
            known = ", ".join(f"[{each}]" for each in sorted(choices))
            raise CommandRefused(f"Option [reset-offsets] takes one of these options: {known}")
        for choice in choices:
            check_together(options, choice, [other for other in choices if other != choice])


_CHECKS = {
    "describe": check_describe,
    "delete": _check_delete,
    "delete-offsets": _check_delete_offsets,
    "reset-offsets": _check_reset,
}


# --- listing and describing ---


def _list(client: Client, options: Options) -> None:
    list_in_states(client, options, SHARE, _STATES)


def _describe(client: Client, options: Options) -> None:
    infos = [describe_share_group(client, name) for name in sorted(named_groups(client, options, SHARE))]
    is_verbose = options.has("verbose")
    for info in infos:
        if options.has("members"):
            _print_if_empty(info)
            if info.members:
                _print_members(info, is_verbose)
        elif options.has("state"):
            _print_if_empty(info)
            _print_state(client, info, is_verbose)
        else:
            _print_offsets(info, share_offsets(client, info.group_id), is_verbose)


def _print_if_empty(info: GroupInfo) -> None:
    if info.state == groups.EMPTY:
        print(f"\nShare group '{info.group_id}' has no active members.", file=sys.stderr)


def _print_offsets(info: GroupInfo, offsets: Mapping[TopicPartition, ShareOffset], is_verbose: bool) -> None:
    if not offsets:
        print(f"\nShare group '{info.group_id}' has no offset information.")
        return
    rows = [["GROUP", "TOPIC", "PARTITION", "LEADER-EPOCH", "START-OFFSET", "LAG"]]
    for place, found in sorted(offsets.items()):
        begun = found.start_offset is not None
        cells = (found.leader_epoch if begun else None, found.start_offset, found.lag if begun else None)
        rows.append([info.group_id, *map(str, place), *(_NOTHING if each is None else str(each) for each in cells)])
    widths = [None, None, 10, 13, 13, 0]
    kept = [at for at in range(6) if is_verbose or at != 3]
    print_columns([[row[at] for at in kept] for row in rows], [widths[at] for at in kept])


def _print_members(info: GroupInfo, is_verbose: bool) -> None:
    rows = [["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "MEMBER-EPOCH", "ASSIGNMENT"]]
    for member in info.members:
        places = member.assignment or []
        epoch = _NOTHING if member.share is None else str(member.share.epoch)
        who = [info.group_id, member.member_id, member.client_host, member.client_id]
        rows.append([*who, str(len(places)), epoch, assigned(places, otherwise="")])
    widths = [None, None, None, None, 12, 13, 0]
    kept = [at for at in range(7) if is_verbose or at != 5]
    print_columns([[row[at] for at in kept] for row in rows], [widths[at] for at in kept])


def _print_state(client: Client, info: GroupInfo, is_verbose: bool) -> None:
    coordinator = coordinator_text(client, info.coordinator)
    header, row = ["GROUP", "COORDINATOR (ID)", "STATE"], [info.group_id, coordinator, info.state]
    widths: list[int | None] = [None, max(25, len(coordinator)), _COLUMN]
    if is_verbose:
        header += ["GROUP-EPOCH", "ASSIGNMENT-EPOCH"]
        row += [str(info.group_epoch), str(info.assignment_epoch)]
        widths += [12, 17]
    print_columns([[*header, "#MEMBERS"], [*row, str(len(info.members))]], [*widths, 0])


# --- changing ---


def _delete(client: Client, options: Options) -> None:
    states = {each.group_id: each.state for each in groups.list_groups(client, (), [SHARE])}
    names = list(states) if options.has("all-groups") else list(dict.fromkeys(options.values("group")))
    failed: dict[str, str] = {}
    for name in names:
        if name not in states:
            failed[name] = f"Group '{name}' is not a share group."
        elif states[name] != groups.EMPTY:
            failed[name] = f"Share group '{name}' is not EMPTY."
        else:
            failed |= delete_each(client, [name])
    if failed:
        print_undeleted("share", names, failed)
    else:
        deleted = ", ".join(f"'{name}'" for name in names)
        print(f"Deletion of requested share groups ({deleted}) was successful.")


def _delete_offsets(client: Client, options: Options) -> None:
    group = options.value("group") or ""
    outcome: dict[str, str] = {}
    of_the_group: str | None = None
    for topic in sorted(set(options.values("topic"))):
        error = refusal(partial(delete_share_offsets, client, group, [topic]))
        outcome[topic] = outcome_text(error)
        if error is not None and error.code in OF_THE_GROUP:
            of_the_group = error_text(error)
    if of_the_group is not None:
        print_error(of_the_group)
    width = max([_COLUMN, *map(len, outcome)])
    print()
    for topic, status in [("TOPIC", "STATUS"), *outcome.items()]:
        print(f"{topic:{width}} {status}")


def _reset_offsets(client: Client, options: Options) -> None:
    group = options.value("group") or ""
    try:
        if describe_share_group(client, group).state not in (groups.EMPTY, groups.DEAD):
            raise CommandRefused(f"Share group '{group}' is not empty.")
    except ConnectionFailed:
        raise
    except KafkaError as error:
        if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
            raise CommandRefused(error_text(error)) from error
    goals = _goals(client, options, group)
    if options.has("execute") and goals:
        alter_share_offsets(client, group, goals)
    print_reset(options, {group: goals} if goals else {}, with_group=False)


def _goals(client: Client, options: Options, group: str) -> Goals:
    if options.has("from-file"):
        plan = read_plan(options)
        if group not in plan:
            print_unplanned(group)
        return within(client, plan.get(group, {}))
    if options.has("topic"):
        places = partitions_of(client, options.values("topic"))
        check_exist(client, places)
        known = share_offsets(client, group) if options.has("to-current") else {}
    else:
        known = share_offsets(client, group)
        places = sorted(known)
    return new_offsets(client, options, places, _started(known))


def _started(offsets: Mapping[TopicPartition, ShareOffset]) -> Goals:
    """Return the start offsets of the partitions that have one."""
    return {place: each.start_offset for place, each in offsets.items() if each.start_offset is not None}


_DO = {
    "list": _list,
    "describe": _describe,
    "delete": _delete,
    "reset-offsets": _reset_offsets,
    "delete-offsets": _delete_offsets,
}
