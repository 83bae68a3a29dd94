"""What becomes of committed offsets without anybody asking: their topic is deleted, or they grow too old.

Outcomes have a bounded number of records each, so that no batch outgrows the topic's largest message.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from barnabas.broker.coordinator.group.decisions.classic.model import NO_TOPIC_ID, GroupConfig
from barnabas.broker.coordinator.group.decisions.kinds import AnyOutcome
from barnabas.broker.coordinator.group.decisions.machine import GroupMachine
from barnabas.broker.coordinator.group.decisions.offsets import offsets
from barnabas.broker.coordinator.group.decisions.state import DurableGroups
from barnabas.broker.coordinator.runtime.outcome import Outcome

RECORDS_PER_BATCH = 1_000


def staying_ids(topic_id: bytes | None, *, even_without_id: bool) -> tuple[bytes, ...]:
    """The ids of the topics whose offsets stay, where `topic_id` is that of the topic that now has the name.

    None: no topic has it. even_without_id: offsets that do not say which topic they are for go, too.
    """
    if topic_id is None:
        return ()
    return (topic_id,) if even_without_id else (topic_id, NO_TOPIC_ID)


class Leaving(NamedTuple):
    """What a group committed for a topic that does not stay."""

    partitions: list[int]
    """Those whose offsets go, committed and in open transactions."""
    is_held_up: bool
    """In some partition an offset goes and another stays: one of them is in an open transaction."""
    looked_at: int
    """How many offsets were looked at, and one for the group."""


def leaving(durable: DurableGroups, group_id: str, topic: str, staying: Collection[bytes]) -> Leaving:
    """Which of the group's offsets for the topic go; `staying` are the topic ids of those that do not."""
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
    """Expiry of a group's old offsets, and of the group with the last of them."""
    group, durable = machine.group(group_id), machine.durable
    if group is None:
        return  # gone meanwhile
    outcome = offsets.expire(
        group, durable.offsets(group_id), unstable=durable.unstable(group_id), now_ms=now_ms, config=config
    )
    records = outcome.records
    while len(records) > RECORDS_PER_BATCH:
        yield Outcome(records=records[:RECORDS_PER_BATCH])
        records = records[RECORDS_PER_BATCH:]
    if records:
        yield outcome._replace(records=records)
