"""The decisions about committed offsets without a request: their topic is deleted, or their retention has passed.

Outcomes have a bounded number of records each, so that no batch exceeds the topic's maximum message size.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from barnabas.broker.coordinator.group.decisions.classic.model import NO_TOPIC_ID, GroupConfig
from barnabas.broker.coordinator.group.decisions.durable_groups import DurableGroups
from barnabas.broker.coordinator.group.decisions.group_machine import GroupMachine
from barnabas.broker.coordinator.group.decisions.group_types import AnyOutcome
from barnabas.broker.coordinator.group.decisions.offsets import committed_offsets
from barnabas.broker.coordinator.runtime.outcome import Outcome

RECORDS_PER_BATCH = 1_000


def staying_ids(topic_id: bytes | None, *, even_without_id: bool) -> tuple[bytes, ...]:
    """Return the ids of the topics whose offsets stay; `topic_id` is the id of the topic that now has the name.

    None: no topic has it. even_without_id: offsets without a topic id are deleted, too.
    """
    if topic_id is None:
        return ()
    return (topic_id,) if even_without_id else (topic_id, NO_TOPIC_ID)


class Leaving(NamedTuple):
    """A group's offsets for a topic, as far as they are deleted."""

    partitions: list[int]
    """Partitions whose offsets are deleted, committed and in open transactions."""
    is_held_up: bool
    """Whether in some partition one offset is deleted and another stays: one of them is in an open transaction."""
    looked_at: int
    """How many offsets were examined, plus one for the group."""


def leaving(durable: DurableGroups, group_id: str, topic: str, staying: Collection[bytes]) -> Leaving:
    """Return which of the group's offsets for the topic are deleted; `staying` are the topic ids of the others."""
    going: dict[int, None] = {}
    kept: set[int] = set()
    looked_at = 1
    for number, committed in durable.offsets(group_id).get(topic, {}).items():
        looked_at += 1
        if committed.topic_id in staying:
            kept.add(number)
        else:
            going[number] = None
    for number, committed in durable.pending(group_id, topic):
        looked_at += 1
        if committed.topic_id in staying:
            kept.add(number)
        else:
            going[number] = None
    return Leaving([number for number in going if number not in kept], not kept.isdisjoint(going), looked_at)


def expire(machine: GroupMachine, group_id: str, now_ms: int, config: GroupConfig) -> Iterator[AnyOutcome]:
    """Yield outcomes that delete a group's expired offsets, and the group with the last of them."""
    group, durable = machine.group(group_id), machine.durable
    if group is None:
        return  # deleted in the meantime
    outcome = committed_offsets.expire(
        group, durable.offsets(group_id), unstable=durable.unstable(group_id), now_ms=now_ms, config=config
    )
    records = outcome.records
    while len(records) > RECORDS_PER_BATCH:
        yield Outcome(records=records[:RECORDS_PER_BATCH])
        records = records[RECORDS_PER_BATCH:]
    if records:
        yield outcome._replace(records=records)
