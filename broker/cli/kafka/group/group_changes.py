"""kafka-consumer-groups: resetting offsets, and deleting groups and offsets; and what all kinds of groups share."""

from __future__ import annotations

import csv
import io
import re
import sys
from argparse import ArgumentTypeError
from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from functools import partial

from barnabas.broker.cli.group.group_offsets import time_ms
from barnabas.broker.cli.kafka.flags import CommandRefused, Options, error_text, refusal, whole_number
from barnabas.client.admin import groups
from barnabas.client.admin.offset_resets import nearest_offset
from barnabas.client.admin.topics import describe_topics
from barnabas.client.client import Client
from barnabas.client.errors import BrokerSays, ConnectionFailed
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import EARLIEST, LATEST, commit_offsets, committed_offsets, list_offsets
from barnabas.protocol.errors import ErrorCode, KafkaError

Goals = dict[TopicPartition, int]
_CONSUMERS = ("", "consumer")
_GOALS = "[shift-by], [to-offset], [to-earliest], [to-current], [to-latest], [by-duration], [to-datetime], [from-file]"
_DURATION = re.compile(
    r"(?P<sign>[-+])?P(?:(?P<days>[-+]?\d+)D)?"
    r"(?P<time>T(?:(?P<hours>[-+]?\d+)H)?(?:(?P<minutes>[-+]?\d+)M)?(?:(?P<seconds>[-+]?\d+(?:[.,]\d{0,9})?)S)?)?",
    re.IGNORECASE | re.ASCII,
)
_PARTS = ("days", "hours", "minutes", "seconds")


def consumer_groups(client: Client, states: Iterable[str] = (), types: Iterable[str] = ()) -> list[groups.GroupListing]:
    """Return the groups of consumers: no Connect workers, no share and no streams groups."""
    wanted = list(types) or ["classic", "consumer"]
    found = groups.list_groups(client, states)
    return [each for each in found if each.protocol_type in _CONSUMERS and each.type.lower() in ("", *wanted)]


def named_groups(client: Client, options: Options, kind: str) -> list[str]:
    """Return the groups that --group or --all-groups selects. kind: of --all-groups, SHARE or STREAMS."""
    if options.has("all-groups"):
        return [each.group_id for each in groups.list_groups(client, (), [kind])]
    return list(dict.fromkeys(options.values("group")))


def print_error(what: str) -> None:
    """Print an error that does not end the command."""
    print(f"\nError: {what}")


# --- resetting ---


def reset_offsets(client: Client, options: Options) -> None:
    """Reset the offsets of groups without members (--reset-offsets). Only prints them without --execute."""
    is_for_all = options.has("all-groups")
    names = [each.group_id for each in consumer_groups(client)] if is_for_all else options.values("group")
    plan = read_plan(options) if options.has("from-file") else None
    moved = {name: _reset(client, options, name, plan) for name in dict.fromkeys(names)}
    print_reset(options, moved, with_group=len(options.values("group")) != 1)


def print_reset(options: Options, moved: Mapping[str, Goals], *, with_group: bool, width: int | None = None) -> None:
    """Print the new offsets by group: as a table, or with --export as lines for --from-file.

    with_group: whether a line names the group. width: of the table's columns with names; None for the longest name's.
    """
    if options.has("export"):
        _print_exported(moved, with_group=with_group)
    else:
        _print_moved(moved, width)


def _print_moved(moved: Mapping[str, Goals], width: int | None) -> None:
    rows = [(name, *place, offset) for name, goals in moved.items() for place, offset in sorted(goals.items())]
    groups_width = width or max([15, *(len(group) for group, *_ in rows)])
    topics_width = width or max([15, *(len(topic) for _, topic, *_ in rows)])
    print()
    if moved:
        for row in [("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"), *rows]:
            print(f"{row[0]:{groups_width}} {row[1]:{topics_width}} {row[2]!s:10} {row[3]!s:15}")


def _reset(client: Client, options: Options, group: str, plan: Mapping[str, Goals] | None) -> Goals:
    state = _state(client, group)
    if not is_inactive(group, state):
        return {}
    if plan is not None and group not in plan:
        print_unplanned(group)
        return {}
    committed = committed_offsets(client, group, require_stable=False)
    goals = within(client, plan[group]) if plan is not None else _goals(client, options, committed)
    if options.has("execute") and goals:
        commit_offsets(client, group, goals)
    return goals


def is_inactive(group: str, state: str) -> bool:
    """Return whether a group's offsets may be reset; print it if not."""
    if state in (groups.EMPTY, groups.DEAD):
        return True
    what = f"Assignments can only be reset if the group '{group}' is inactive, but the current state is {state}."
    print_error(what)
    return False


def print_unplanned(group: str) -> None:
    """Print that the file of --from-file has no line for a group."""
    print_error(f"No reset plan for group {group} found.")


def _state(client: Client, group: str) -> str:
    try:
        return groups.describe_group(client, group).state
    except KafkaError as error:
        if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
            raise
        return groups.DEAD


def _goals(client: Client, options: Options, committed: Goals) -> Goals:
    if options.has("all-topics"):
        places = sorted(committed)
    elif options.has("topic"):
        places = partitions_of(client, options.values("topic"))
    else:
        raise CommandRefused("One of the reset scopes should be defined: --all-topics, --topic.")
    return new_offsets(client, options, places, committed)


def new_offsets(client: Client, options: Options, places: Collection[TopicPartition], known: Goals) -> Goals:
    """Return the offsets that the options select for partitions of a group, whose present offsets are known."""
    if options.has("to-offset"):
        return within(client, dict.fromkeys(places, options.number("to-offset") or 0))
    if options.has("shift-by"):
        return within(client, _shifted(places, known, options.number("shift-by") or 0))
    for flag, which in (("to-earliest", EARLIEST), ("to-latest", LATEST)):
        if options.has(flag):
            return _listed(client, places, which)
    if options.has("to-current"):
        return _where_they_are(client, places, known)
    if options.has("to-datetime"):
        return _since(client, places, _datetime_ms(options.value("to-datetime") or ""))
    if options.has("by-duration"):
        return _since(client, places, client.clock.now_ms() - _duration_ms(options.value("by-duration") or ""))
    raise CommandRefused(f"Option '[reset-offsets]' requires one of the following scenarios: [{_GOALS}]")


def partitions_of(client: Client, words: Collection[str]) -> list[TopicPartition]:
    """Return the partitions of each word, `TOPIC` or `TOPIC:N,…`. CommandRefused; KafkaError for a missing topic."""
    places = []
    for word in words:
        topic, colon, numbers = word.partition(":")
        if not colon:
            places += [(topic, number) for number in describe_topics(client, [topic])[0].partitions]
            continue
        if not numbers or ":" in numbers:
            raise CommandRefused(f"Invalid topic arg '{word}', expected topic name and partitions")
        for number in numbers.split(","):
            wrong = f"Invalid partition '{number}' specified in topic arg '{word}''"
            places.append((topic, whole_number(number, wrong)))
    return list(dict.fromkeys(places))


def check_exist(client: Client, places: Collection[TopicPartition]) -> None:
    """Raise KafkaError for partitions that do not exist, of topics that do."""
    counts = {each.name: len(each.partitions) for each in describe_topics(client, sorted({name for name, _ in places}))}
    missing = [f"{topic}-{number}" for topic, number in places if not 0 <= number < counts[topic]]
    if missing:
        words = f'The partitions "{",".join(missing)}" do not exist'
        raise BrokerSays(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, words, "reset-offsets")


def _listed(client: Client, places: Iterable[TopicPartition], which: int) -> Goals:
    wanted = dict.fromkeys(places, which)
    return {place: found.offset for place, found in list_offsets(client, wanted).items()} if wanted else {}


def _where_they_are(client: Client, places: Collection[TopicPartition], known: Goals) -> Goals:
    """Return the offsets of --to-current: the known ones, and the ends of the other partitions."""
    ends = _listed(client, [place for place in places if place not in known], LATEST)
    return {place: known[place] if place in known else ends[place] for place in places}


def _shifted(places: Iterable[TopicPartition], committed: Goals, by: int) -> Goals:
    goals = {}
    for place in places:
        if place not in committed:
            where = f"{place[0]}-{place[1]}"
            raise CommandRefused(
                f"Cannot shift offset for partition {where} since there is no current committed offset"
            )
        goals[place] = committed[place] + by
    return goals


def within(client: Client, goals: Goals) -> Goals:
    """Return the offsets limited to the existing records, with a warning for each change."""
    first, after = _listed(client, goals, EARLIEST), _listed(client, goals, LATEST)
    kept = {}
    for place, goal in goals.items():
        kept[place] = nearest_offset(goal, first[place], after[place])
        if kept[place] != goal:
            which = "higher than latest" if goal > after[place] else "lower than earliest"
            where = f"{place[0]}-{place[1]}"
            what = f"New offset ({goal}) is {which} offset for topic partition {where}"
            print(f"WARN {what}. Value will be set to {kept[place]}.", file=sys.stderr)
    return kept


def _since(client: Client, places: Collection[TopicPartition], timestamp_ms: int) -> Goals:
    goals = _listed(client, places, max(0, timestamp_ms))
    empty = [place for place, offset in goals.items() if offset < 0]
    for topic, number in empty:
        print(f"\nWarn: Partition {number} from topic {topic} is empty. Falling back to latest known offset.")
    return {**goals, **_listed(client, empty, LATEST)}


def _datetime_ms(text: str) -> int:
    try:
        return time_ms(text)
    except ArgumentTypeError as error:
        raise CommandRefused(str(error)) from error


def _duration_ms(text: str) -> int:
    """Parse `PnDTnHnMnS` of Java's durations."""
    match = _DURATION.fullmatch(text)
    parts = {} if match is None else {part: match[part] for part in _PARTS if match[part]}
    if match is None or not parts or (match["time"] or "").upper() == "T":
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Text cannot be parsed to a Duration")
    length = timedelta(**{part: float(value.replace(",", ".")) for part, value in parts.items()})
    return round(length.total_seconds() * 1000) * (-1 if match["sign"] == "-" else 1)


def read_plan(options: Options) -> dict[str, Goals]:
    """Parse the file of --from-file: lines of group, topic, partition, offset; without the group if one is named."""
    only = options.values("group")
    plan: dict[str, Goals] = {}
    with open(options.value("from-file") or "", encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.reader(file), 1):
            row = [only[0], *row] if len(row) == 3 and len(only) == 1 else row
            if not row:
                continue
            wrong = f"line {number} of the file is not group, topic, partition, offset"
            if len(row) != 4:
                raise CommandRefused(wrong)
            place = row[1].strip(), whole_number(row[2].strip(), wrong)
            plan.setdefault(row[0].strip(), {})[place] = whole_number(row[3].strip(), wrong)
    return plan


def _print_exported(moved: Mapping[str, Goals], *, with_group: bool) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for group, goals in moved.items():
        for place, offset in sorted(goals.items()):
            writer.writerow([*([group] if with_group else []), *place, offset])
    print(text.getvalue())


# --- deleting ---


def delete_groups(client: Client, options: Options) -> None:
    """Delete groups with all their committed offsets (--delete)."""
    is_for_all = options.has("all-groups")
    named = [each.group_id for each in consumer_groups(client)] if is_for_all else options.values("group")
    names = list(dict.fromkeys(named))
    failed = delete_each(client, names)
    if failed:
        print_undeleted("consumer", names, failed)
    else:
        print(f"Deletion of requested consumer groups ('{', '.join(names)}') was successful.")


def delete_each(client: Client, names: Iterable[str]) -> dict[str, str]:
    """Delete groups, and return for each that could not be deleted why."""
    refusals = {name: refusal(partial(groups.delete_group, client, name)) for name in names}
    return {name: error_text(error) for name, error in refusals.items() if error is not None}


def print_undeleted(kind: str, names: Iterable[str], failed: Mapping[str, str]) -> None:
    """Print which groups of a kind could not be deleted and why, and the names of the others."""
    print_error(f"Deletion of some {kind} groups failed:")
    for name, why in failed.items():
        print(f"* Group '{name}' could not be deleted due to: {why}")
    deleted = ", ".join(f"'{name}'" for name in names if name not in failed)
    if deleted:
        print(f"\nThese {kind} groups were deleted successfully: {deleted}")


def delete_offsets(client: Client, options: Options) -> None:
    """Delete a group's committed offsets of topics (--delete-offsets)."""
    group = options.value("group") or ""
    places, outcome = found_places(client, options.values("topic"))
    for place in places:
        error = refusal(partial(groups.delete_offsets, client, group, [place]))
        if error is not None and error.code in OF_THE_GROUP:
            print_error(OF_THE_GROUP[error.code].format(group))
            return
        outcome[place] = outcome_text(error)
    failures = any(what != "Successful" for place, what in outcome.items() if place[1] >= 0)
    if failures:
        print_error(SOME_PARTITIONS)
    else:
        print(f"Request succeeded for deleting offsets from group {group}.")
    print_outcome(sorted(outcome.items()))


def found_places(client: Client, words: Iterable[str]) -> tuple[list[TopicPartition], dict[TopicPartition, str]]:
    """Return the partitions that words name, and the outcome of each topic that cannot be found, as partition -1."""
    places: list[TopicPartition] = []
    outcome: dict[TopicPartition, str] = {}
    for word in words:
        try:
            places += partitions_of(client, [word])
        except ConnectionFailed:
            raise
        except KafkaError as error:
            outcome[word, -1] = outcome_text(error)
    return places, outcome


def outcome_text(error: KafkaError | None) -> str:
    """Return the status of a partition whose offset was to be deleted."""
    return "Successful" if error is None else f"Error: {error_text(error)}"


def print_outcome(outcome: Collection[tuple[TopicPartition, str]]) -> None:
    """Print the status of each partition."""
    width = max([15, *(len(topic) for (topic, _), _ in outcome)])
    print(f"\n{'TOPIC':{width}} {'PARTITION':10} {'STATUS':15}")
    for (topic, number), what in outcome:
        print(f"{topic:{width}} {'-' if number < 0 else number!s:10} {what:15}")


OF_THE_GROUP = {
    ErrorCode.INVALID_GROUP_ID: "'{}' is not valid.",
    ErrorCode.GROUP_ID_NOT_FOUND: "'{}' does not exist.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Access to '{}' is not authorized.",
    ErrorCode.NON_EMPTY_GROUP: ("Deleting offsets of a consumer group '{}' is forbidden if the group is not empty."),
}
"""What is printed for errors that concern a whole group, in place of its partitions."""
SOME_PARTITIONS = "Encountered some partition-level error, see the follow-up details."
