"""kafka-streams-groups: resetting and deleting offsets, deleting groups, and with them their internal topics.

Internal topics are those that the program creates for itself: repartition topics and changelogs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from barnabas.broker.cli.kafka.flags import CommandRefused, Options, error_text, refusal
from barnabas.broker.cli.kafka.group.group_changes import (
    OF_THE_GROUP,
    SOME_PARTITIONS,
    Goals,
    check_exist,
    delete_each,
    found_places,
    is_inactive,
    named_groups,
    new_offsets,
    outcome_text,
    partitions_of,
    print_error,
    print_outcome,
    print_reset,
    print_unplanned,
    read_plan,
    within,
)
from barnabas.client.admin import groups
from barnabas.client.admin.group_descriptions import STREAMS
from barnabas.client.admin.newer_groups import describe_streams_group
from barnabas.client.admin.topics import delete_topic
from barnabas.client.client import Client
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import commit_offsets, committed_offsets
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.streams_group_describe import DescribedGroup, Subtopology

_INTERNAL = re.compile(
    r".+(-changelog|-repartition|-subscription-registration-topic|-subscription-response-topic"
    r"|-KTABLE-FK-JOIN-SUBSCRIPTION-(REGISTRATION|RESPONSE)-\d+-topic)",
    re.ASCII,
)
_COLUMN = 30  # of names in the table of new offsets, also of longer ones
_OF_PARTITIONS = (
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)


def subtopologies(group: DescribedGroup) -> Sequence[Subtopology]:
    """Return the subtopologies of the group's program."""
    return () if group.topology is None else group.topology.subtopologies or ()


def _input_offsets(client: Client, group: str) -> Goals:
    """Return the committed offsets of the topics that the program reads and does not create."""
    description, _ = describe_streams_group(client, group)
    sources = {topic for each in subtopologies(description) for topic in each.source_topics}
    found = committed_offsets(client, group, require_stable=False)
    return {place: offset for place, offset in found.items() if place[0] in sources}


# --- resetting ---


def reset_offsets(client: Client, options: Options) -> None:
    """Reset the offsets of groups without members (--reset-offsets). Only prints them without --execute."""
    plan = read_plan(options) if options.has("from-file") else None
    moved = {name: _reset(client, options, name, plan) for name in named_groups(client, options, STREAMS)}
    print_reset(options, moved, with_group=len(options.values("group")) != 1, width=_COLUMN)


def _reset(client: Client, options: Options, group: str, plan: Mapping[str, Goals] | None) -> Goals:
    try:
        description, _ = describe_streams_group(client, group)
    except KafkaError as error:
        if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
            raise
        description = None
    state = groups.DEAD if description is None else description.group_state
    if not is_inactive(group, state):
        return {}
    goals = _goals(client, options, group, plan)
    if options.has("execute"):
        if goals:
            commit_offsets(client, group, goals)
        if description is not None:
            _delete_after_reset(client, options, description)
    return goals


def _goals(client: Client, options: Options, group: str, plan: Mapping[str, Goals] | None) -> Goals:
    known: Goals = {}
    places: list[TopicPartition] = []
    if options.has("all-input-topics"):
        known = _input_offsets(client, group)
        places = sorted(known)
    elif options.has("input-topic"):
        known = committed_offsets(client, group, require_stable=False)
        places = _input_partitions(client, group, options.values("input-topic"), known)
    elif plan is None:
        raise CommandRefused("One of the reset scopes should be defined: --all-input-topics, --input-topic.")
    if plan is None:
        return new_offsets(client, options, places, known)
    if group not in plan:
        print_unplanned(group)
    return within(client, plan.get(group, {}))


def _input_partitions(client: Client, group: str, words: Sequence[str], known: Goals) -> list[TopicPartition]:
    places = partitions_of(client, words)
    check_exist(client, places)
    if set(places) <= known.keys():
        return places
    print_error(f"One or more topics are not part of the group '{group}'.")
    return []


def _delete_after_reset(client: Client, options: Options, group: DescribedGroup) -> None:
    name = group.group_id
    if options.has("delete-all-internal-topics"):
        topics = _internal_topics(group)
    else:
        topics = options.values("delete-internal-topic")
    failures = _delete_topics(client, topics)
    if any(error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION for error in failures.values()):
        print_error(f"Deleting internal topics for group '{name}' failed because the topics do not exist.")
    elif failures:
        why = error_text(next(iter(failures.values())))
        print_error(f"Deleting internal topics for group '{name}' failed due to {why}")


# --- internal topics ---


def _internal_topics(group: DescribedGroup) -> list[str]:
    """Return the topics that the program has created, by their names; prints those with another name."""
    parts = subtopologies(group)
    sources = {topic for each in parts for topic in each.source_topics}
    named = [topic.name for each in parts for topic in (*each.repartition_source_topics, *each.state_changelog_topics)]
    found = []
    for name in dict.fromkeys(named):
        if name in sources:
            continue
        if name.startswith(f"{group.group_id}-") and _INTERNAL.fullmatch(name):
            found.append(name)
        else:
            print_error(
                f"The internal topic '{name}' is not inferred as internal "
                f"and thus will not be deleted with the group '{group.group_id}'."
            )
    return found


def _delete_topics(client: Client, names: Iterable[str]) -> dict[str, KafkaError]:
    """Delete topics, and return the errors of those that could not be deleted."""
    refusals = {name: refusal(partial(delete_topic, client, name)) for name in names}
    return {name: error for name, error in refusals.items() if error is not None}


# --- deleting ---


def delete_groups(client: Client, options: Options) -> None:
    """Delete groups without members (--delete), with --delete-all-internal-topics their internal topics, too."""
    names = named_groups(client, options, STREAMS)
    states = {each.group_id: each.state for each in groups.list_groups(client, (), [STREAMS])}
    failed = {name: why for name in names if (why := _why_not_deleted(name, states.get(name))) is not None}
    topics: dict[str, list[str]] = {}
    if options.has("delete-all-internal-topics"):
        found = {
            name: _internal_topics(describe_streams_group(client, name)[0]) for name in names if name not in failed
        }
        topics = {name: internal for name, internal in found.items() if internal}
    failed |= delete_each(client, [name for name in names if name not in failed])
    deleted = [name for name in names if name not in failed]
    failures = {name: failure for name in deleted if (failure := _delete_topics(client, topics.get(name, ())))}
    for each in failures.values():
        for topic in each:
            print(f"Failed to delete internal topic: {topic}")
    _print_deleted(deleted, failed)
    if topics and deleted:
        _print_internal([name for name in deleted if name in topics], failures)


def _why_not_deleted(group: str, state: str | None) -> str | None:
    if state is None:
        return f"Group '{group}' does not exist or is not a streams group."
    if state == groups.DEAD:
        return f"Streams group '{group}' group state is DEAD."
    return None if state == groups.EMPTY else f"Streams group '{group}' is not EMPTY."


def _print_deleted(deleted: Sequence[str], failed: Mapping[str, str]) -> None:
    names = "', '".join(deleted)
    if not failed:
        print(f"Deletion of requested streams groups ('{names}') was successful.")
        return
    print_error("Deletion of some streams groups failed:")
    for name, why in failed.items():
        print(f"* Group '{name}' could not be deleted due to: {why}")
    if deleted:
        print(f"\nThese streams groups were deleted successfully: '{names}'.")


def _print_internal(deleted: Sequence[str], failures: Mapping[str, Mapping[str, KafkaError]]) -> None:
    if not failures:
        names = "', '".join(deleted)
        print(f"Deletion of associated internal topics of the streams groups ('{names}') was successful.")
        return
    print("Deletion of some associated internal topics failed:")
    for name, errors in failures.items():
        why = error_text(next(iter(errors.values())))
        print(f"* Internal topics of the streams group '{name}' could not be deleted due to: {why}")


def delete_offsets(client: Client, options: Options) -> None:
    """Delete a group's committed offsets of its input topics (--delete-offsets)."""
    group = options.value("group") or ""
    if options.has("all-input-topics"):
        places, outcome = sorted(_input_offsets(client, group)), dict[TopicPartition, str]()
    else:
        places, outcome = found_places(client, options.values("input-topic"))
    asked = [[place] for place in places] or [[]]  # without a partition whether there is such a group
    refusals = [refusal(partial(groups.delete_offsets, client, group, each)) for each in asked]
    outcome |= {place: outcome_text(error) for place, error in zip(places, refusals, strict=False)}
    _print_of_all(group, next(filter(None, refusals), None))
    print_outcome(sorted(outcome.items(), key=lambda it: f"{it[0][0]}{it[0][1]}"))


def _print_of_all(group: str, error: KafkaError | None) -> None:
    if error is None:
        print(f"Request succeeded for deleting offsets from group {group}.")
    elif error.code in OF_THE_GROUP:
        print_error(error_text(error))
    elif error.code in _OF_PARTITIONS:
        print_error(SOME_PARTITIONS)
    else:
        print_error(f"Encountered some unknown error: {error.code.name}")
