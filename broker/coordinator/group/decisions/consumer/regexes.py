# compiled: mypyc
"""Subscriptions by regular expression (KIP-848, RE2): when they are resolved, and how the result is used.

A regular expression is compiled when the first member subscribes to it, and resolved to names of topics outside of the
heartbeat: `ResolveTopics` requests it, `resolved` decides what the result changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from barnabas.broker.coordinator.group.decisions.consumer import records
from barnabas.broker.coordinator.group.decisions.consumer.expressions import InvalidExpression, compiled
from barnabas.broker.coordinator.group.decisions.consumer.group import ConsumerGroup, counted, regex_of
from barnabas.broker.coordinator.group.decisions.consumer.model import (
    ConsumerGroupMember,
    ResolvedRegex,
    Topics,
)
from barnabas.broker.coordinator.group.decisions.consumer.subscriptions import metadata_hash
from barnabas.broker.coordinator.group.decisions.modern.group import MetadataSeen
from barnabas.broker.coordinator.group.decisions.modern.records import KeyedRecord
from barnabas.broker.coordinator.runtime.outcome import Outcome
from barnabas.protocol.errors import ErrorCode, KafkaError

RESOLVED_AGAIN_AFTER_MS = 10_000
"""The minimum time between two resolutions of a group's regular expressions."""

ConsumerOutcome = Outcome[KeyedRecord, MetadataSeen]


class Status(Enum):
    """The effect of a heartbeat on the member's regular expression."""

    UNCHANGED = "it is the same, or none"
    UPDATED = "it is another one, and must be resolved first"
    UPDATED_AND_RESOLVED = "it is another one, and its topics are known"


class RegexUpdate(NamedTuple):
    status: Status
    records: tuple[KeyedRecord, ...] = ()
    to_resolve: tuple[str, ...] = ()
    """All regular expressions of the group, if they have to be resolved now."""


_NOTHING_CHANGED: Final = RegexUpdate(Status.UNCHANGED)


def check_regex(regex: str) -> None:
    """Raise INVALID_REGULAR_EXPRESSION if it is not RE2."""
    try:
        compiled(regex)
    except InvalidExpression as error:
        raise KafkaError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {error}.",
        ) from error


def update(
    group: ConsumerGroup,
    before: ConsumerGroupMember,
    after: ConsumerGroupMember,
    *,
    topics: Topics,
    now_ms: int,
    refresh_interval_ms: int,
) -> RegexUpdate:
    """Return the effect of a heartbeat that changes a member from `before` to `after`. INVALID_REGULAR_EXPRESSION."""
    if before is after and not group.regex_counts:
        return _NOTHING_CHANGED
    old, new = before.topic_regex or "", after.topic_regex or ""
    status, is_new = Status.UNCHANGED, False
    written: tuple[KeyedRecord, ...] = ()
    if before.topic_regex != after.topic_regex:
        status = Status.UPDATED
        if old and group.regex_counts.get(old) == 1:
            written = (records.regex_gone(group.group_id, old),)
        if new and new not in group.regex_counts:
            check_regex(new)
            is_new = True
        elif new in group.regexes or (old and not new):
            status = Status.UPDATED_AND_RESOLVED
    if not is_new and not group.regex_counts:
        return RegexUpdate(status, written)
    return RegexUpdate(status, written, _to_resolve(group, before, after, is_new, topics, now_ms, refresh_interval_ms))


def _to_resolve(
    group: ConsumerGroup,
    before: ConsumerGroupMember,
    after: ConsumerGroupMember,
    is_new: bool,
    topics: Topics,
    now_ms: int,
    refresh_interval_ms: int,
) -> tuple[str, ...]:
    last = next(iter(group.regexes.values()), None)
    if last is not None and now_ms <= last.timestamp_ms + RESOLVED_AGAIN_AFTER_MS:
        return ()
    subscribed = counted(group.regex_counts, regex_of(before), regex_of(after))
    is_due = (
        is_new
        or last is None
        or len(subscribed) != len(group.regexes)
        or last.version < topics.newest_topic_version
        or now_ms > last.timestamp_ms + refresh_interval_ms
    )
    return tuple(subscribed) if is_due else ()


def resolved(group: ConsumerGroup | None, results: Mapping[str, ResolvedRegex], *, topics: Topics) -> ConsumerOutcome:
    """Decide what the result changes: there is a new epoch if it changes the topics of the group."""
    if group is None:
        return Outcome()
    still_wanted = {regex: result for regex, result in results.items() if regex in group.regex_counts}
    written = [records.regex_resolved(group.group_id, regex, result) for regex, result in still_wanted.items()]
    names = dict.fromkeys(group.name_counts)
    for regex_topics in {**group.regexes, **still_wanted}.values():
        names.update(dict.fromkeys(regex_topics.topics))
    fresh_hash = metadata_hash(names, topics)
    is_other = any(
        set(result.topics) != set(group.regexes[regex].topics if regex in group.regexes else ())
        for regex, result in still_wanted.items()
    )
    if not is_other and fresh_hash == group.metadata_hash:
        return Outcome(records=tuple(written))
    epoch = group.group_epoch + 1
    written.append(records.epoch_bumped(group.group_id, epoch, fresh_hash))
    return Outcome(records=tuple(written), volatile=MetadataSeen(topics.version, epoch))
