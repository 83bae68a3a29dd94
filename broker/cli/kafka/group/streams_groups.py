"""kafka-streams-groups (KIP-1071): listing and describing streams groups. Changes are in `streams_group_changes`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from barnabas.broker.cli.kafka.flags import (
    ALONE,
    MAYBE_VALUE,
    VALUE,
    CommandRefused,
    Options,
    check_only_with,
    check_together,
    need,
    read,
    says_version,
)
from barnabas.broker.cli.kafka.group.group_changes import named_groups, print_error
from barnabas.broker.cli.kafka.group.groups import (
    check_describe,
    check_execution,
    coordinator_text,
    executed,
    list_in_states,
    print_rows,
)
from barnabas.broker.cli.kafka.group.streams_group_changes import (
    delete_groups,
    delete_offsets,
    reset_offsets,
    subtopologies,
)
from barnabas.client.addresses import Address
from barnabas.client.admin import groups
from barnabas.client.admin.group_descriptions import STREAMS
from barnabas.client.admin.newer_groups import describe_streams_group
from barnabas.client.client import Client
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import EARLIEST, LATEST, committed_positions, list_offsets
from barnabas.protocol.messages.streams_group_describe import Assignment, DescribedGroup, Member, TaskIds

_ACTIONS = ("list", "describe", "delete", "reset-offsets", "delete-offsets")
_VIEWS = ("members", "offsets", "topology")
_GOALS_ALONE = ("to-earliest", "to-latest", "to-current")
_GOALS = (*_GOALS_ALONE, "to-offset", "to-datetime", "by-duration", "shift-by", "from-file")
_FLAGS = {
    **dict.fromkeys([*_ACTIONS, *_GOALS_ALONE, "all-groups", "all-input-topics"], ALONE),
    **dict.fromkeys(["delete-all-internal-topics", "dry-run", "execute", "export"], ALONE),
    **dict.fromkeys([*_VIEWS, "verbose"], ALONE),
    **dict.fromkeys([goal for goal in _GOALS if goal not in _GOALS_ALONE], VALUE),
    **dict.fromkeys(["group", "input-topic", "delete-internal-topic", "timeout"], VALUE),
    "state": MAYBE_VALUE,
}
_ONLY_WITH = {**dict.fromkeys([*_VIEWS, "verbose"], ("describe",)), "state": ("describe", "list")}
_PURPOSE = "This tool helps to list, describe, delete and manage the offsets of streams groups."
_STATES = ("Stable", "Dead", "Empty", "NotReady", "Assigning", "Reconciling")
_NOTHING = "-"
_NOT_STORED, _NOT_FETCHED = 1, 2  # status of a topology's description


def kafka_streams_groups(arguments: Sequence[str]) -> int:
    """List, describe and delete streams groups with their internal topics, and reset or delete their offsets.

    An error of the broker is printed on stdout, as by Kafka's tool.
    """
    options = read(_FLAGS, arguments)
    if says_version(options, arguments, _PURPOSE, _FLAGS):
        return 0
    return executed("streams", _DO[_checked(options)], options, refused=1)


# --- which options go together ---


def _checked(options: Options) -> str:
    """Return the action. CommandRefused if there is none, or flags do not go together."""
    check_only_with(options, _ONLY_WITH)
    need(options, "bootstrap-server")
    for action, check in _CHECKS.items():
        if options.has(action):
            check(options)
    if (options.has("dry-run") or options.has("execute")) and not options.has("reset-offsets"):
        raise CommandRefused("Only Option [reset-offsets] accepts [execute] or [dry-run]")
    check_together(options, "group", ["all-groups", "list"])
    check_together(options, "input-topic", ["list", "describe", "delete"])
    actions = [action for action in _ACTIONS if options.has(action)]
    if len(actions) != 1:
        *others, last = (f"--{each}" for each in _ACTIONS)
        raise CommandRefused(f"Command must include exactly one action: {', '.join(others)}, or {last}.")
    return actions[0]


def _check_has_group(options: Options, action: str) -> None:
    if not (options.has("group") or options.has("all-groups")):
        raise CommandRefused(f"Option [{action}] takes one of these options: [all-groups], [group]")


def _check_delete(options: Options) -> None:
    _check_has_group(options, "delete")
    if options.has("input-topic") or options.has("all-input-topics"):
        raise CommandRefused("Kafka Streams does not support topic-specific offset deletion from a streams group.")


def _check_delete_offsets(options: Options) -> None:
    if not (options.has("group") and (options.has("input-topic") or options.has("all-input-topics"))):
        raise CommandRefused(
            "Option [delete-offsets] takes the [group] and one of these options: [all-input-topics], [input-topic]"
        )
    if len(named := options.values("group")) > 1:
        found = f"[{', '.join(named)}]"
        raise CommandRefused(f"Option [delete-offsets] supports only one [group] at a time, but found: {found}")


def _check_reset(options: Options) -> None:
    check_execution(options)
    _check_has_group(options, "reset-offsets")
    for goal in ("to-offset", "shift-by"):
        options.number(goal)
    for goal in _GOALS:
        check_together(options, goal, [other for other in _GOALS if other != goal])


def _check_all_internal(options: Options) -> None:
    if not (options.has("reset-offsets") or options.has("delete")):
        what = "takes one of these options: [delete], [reset-offsets]"
    elif options.has("reset-offsets") and not options.has("execute"):
        what = "takes [execute] when [reset-offsets] is used."
    else:
        return
    raise CommandRefused(f"Option [delete-all-internal-topics] {what}")


def _check_internal(options: Options) -> None:
    is_for_all = options.has("delete-all-internal-topics")
    if not (is_for_all or (options.has("reset-offsets") and options.has("execute"))):
        raise CommandRefused("Option [delete-internal-topic] takes [reset-offsets] when [execute] is used.")


_CHECKS = {
    "describe": lambda options: check_describe(options, ("members", "offsets", "state", "topology")),
    "delete": _check_delete,
    "delete-offsets": _check_delete_offsets,
    "reset-offsets": _check_reset,
    "delete-all-internal-topics": _check_all_internal,
    "delete-internal-topic": _check_internal,
}


# --- listing and describing ---


def _list(client: Client, options: Options) -> None:
    list_in_states(client, options, STREAMS, _STATES)


def _describe(client: Client, options: Options) -> int:
    if options.has("topology"):
        return max((_print_topology(client, name) for name in named_groups(client, options, STREAMS)), default=0)
    is_verbose = options.has("verbose")
    for name in named_groups(client, options, STREAMS):
        group, coordinator = describe_streams_group(client, name)
        if options.has("state"):
            _print_if_inactive(group)
            _print_state(client, group, coordinator, is_verbose)
        elif group.group_state != groups.DEAD and group.members:
            _print_if_inactive(group)
            if options.has("members"):
                _print_members(group, is_verbose)
            else:
                _print_offsets(client, group, is_verbose)
    return 0


def _print_topology(client: Client, name: str) -> int:
    """Print why there is no description of the program's topology, which only plug-ins of Apache Kafka store."""
    group, _ = describe_streams_group(client, name, include_topology_description=True)
    status = group.topology_description_status
    if group.topology_description is not None:
        raise CommandRefused(
            "kafka-streams-groups: run the tool of Apache Kafka to print the description of a topology"
        )
    if status == _NOT_STORED:
        print_error(f"No topology description is stored for streams group '{name}'.")
    elif status == _NOT_FETCHED:
        what = f"The broker failed to fetch the topology description for streams group '{name}'."
        print_error(f"{what} See the broker logs for details.")
    else:
        print_error(f"No topology description is available for streams group '{name}' (status: NOT_REQUESTED).")
    return 1


def _print_if_inactive(group: DescribedGroup) -> None:
    if group.group_state == groups.DEAD:
        print_error(f"Streams group '{group.group_id}' does not exist.")
    elif group.group_state == groups.EMPTY:
        print_error(f"Streams group '{group.group_id}' has no active members.")


def _print_state(client: Client, group: DescribedGroup, address: Address, is_verbose: bool) -> None:
    coordinator = coordinator_text(client, address, gap=" ")
    header, widths = ["GROUP", "COORDINATOR (ID)", "ASSIGNOR", "STATE"], [None, max(25, len(coordinator)), None, 25]
    row = [group.group_id, coordinator, group.assignor_name or _NOTHING, group.group_state]
    if is_verbose:
        header += ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"]
        row += [str(group.group_epoch), str(group.assignment_epoch)]
        widths += [15, 25]
    print_rows([[*header, "#MEMBERS"], [*row, str(len(group.members))]], [*widths, 0])


def _print_members(group: DescribedGroup, is_verbose: bool) -> None:
    rows = [["GROUP", "MEMBER", "PROCESS", "CLIENT-ID", "ASSIGNMENTS"]]
    rows += [_member_row(group, each, is_verbose) for each in sorted(group.members, key=lambda it: it.member_id)]
    if is_verbose:
        epochs = [["TARGET-ASSIGNMENT-EPOCH", "TOPOLOGY-EPOCH", "MEMBER-PROTOCOL", "MEMBER-EPOCH"]]
        epochs += [_epochs(group, each) for each in sorted(group.members, key=lambda it: it.member_id)]
        member_width = max(15, *(len(row[1]) for row in rows))
        rows = [  # Kafka's tool has no space before the member
            [row[0], target, f"{topology:15}{row[1]:{member_width}}", protocol, epoch, *row[2:]]
            for row, (target, topology, protocol, epoch) in zip(rows, epochs, strict=True)
        ]
    print_rows(rows, [None, 25, None, 15, 15, None, None, 0] if is_verbose else [None, None, None, None, 0])


def _member_row(group: DescribedGroup, member: Member, is_verbose: bool) -> list[str]:
    tasks = _tasks(member.assignment, "") + (_tasks(member.target_assignment, "TARGET-") if is_verbose else "")
    return [group.group_id, member.member_id, member.process_id, member.client_id, tasks]


def _epochs(group: DescribedGroup, member: Member) -> list[str]:
    topology = "0" if group.topology is None else str(group.topology.epoch)
    protocol = "classic" if member.is_classic else "streams"
    return [str(group.assignment_epoch), topology, protocol, str(member.member_epoch)]


def _tasks(assignment: Assignment, prefix: str) -> str:
    """Return `ACTIVE: 0:[0,1]; 1:[0]; STANDBY: …`; nothing of a kind without tasks."""
    kinds: dict[str, list[TaskIds]] = {
        "ACTIVE": assignment.active_tasks,
        "STANDBY": assignment.standby_tasks,
        "WARMUP": assignment.warmup_tasks,
    }
    return "".join(
        f"{prefix}{kind}: " + "".join(f"{each.subtopology_id}:[{_numbers(each.partitions)}]; " for each in tasks)
        for kind, tasks in kinds.items()
        if tasks
    )


def _numbers(partitions: Iterable[int]) -> str:
    return ",".join(map(str, sorted(partitions)))


def _print_offsets(client: Client, group: DescribedGroup, is_verbose: bool) -> None:
    places = sorted(_read_by(group))
    firsts, ends = (list_offsets(client, dict.fromkeys(places, which)) for which in (EARLIEST, LATEST))
    committed = committed_positions(client, group.group_id, require_stable=False)
    rows = [["GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LEADER-EPOCH", "LOG-END-OFFSET", "OFFSET-LAG"]]
    for place in places:
        position, end = committed.get(place), ends[place].offset
        offset = None if position is None else position.offset
        epoch = None if position is None or position.leader_epoch < 0 else position.leader_epoch
        lag = end - (firsts[place].offset if offset is None else offset)
        cells = (*place, offset, epoch, end, lag)
        rows.append([group.group_id, *(_NOTHING if each is None else str(each) for each in cells)])
    widths = [None, None, 10, 15, 15, 15, 0]
    kept = [at for at in range(7) if is_verbose or at not in (3, 4, 5)]
    print_rows([[row[at] for at in kept] for row in rows], [widths[at] for at in kept])


def _read_by(group: DescribedGroup) -> set[TopicPartition]:
    """Return the partitions that the active tasks of the group read."""
    topics = {
        each.subtopology_id: [*each.source_topics, *(topic.name for topic in each.repartition_source_topics)]
        for each in subtopologies(group)
    }
    tasks = [task for member in group.members for task in member.assignment.active_tasks]
    return {(topic, number) for task in tasks for topic in topics[task.subtopology_id] for number in task.partitions}


_DO = {
    "list": _list,
    "describe": _describe,
    "delete": delete_groups,
    "reset-offsets": reset_offsets,
    "delete-offsets": delete_offsets,
}
