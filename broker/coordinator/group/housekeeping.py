"""What becomes of committed offsets without anybody asking: their topic is deleted, or they grow too old.

Yields outcomes of a bounded number of records each, so that no batch outgrows the topic's largest message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from broker.coordinator.group import offsets
from broker.coordinator.group.draft import GroupOutcome
from broker.coordinator.group.machine import GroupMachine
from broker.coordinator.group.model import NO_TOPIC_ID, GroupConfig, OffsetCommitted
from broker.coordinator.group.state import DurableGroups
from broker.coordinator.outcome import Outcome

RECORDS_PER_BATCH = 1_000

Staying = Callable[[str], tuple[bytes, ...] | None]
"""topic name -> the ids of the topics whose offsets stay; None when all do. Asked once per group and topic."""


def unless_of(topic: str) -> Staying:
    """The offsets of a topic that was just deleted go."""
    return lambda name: () if name == topic else None


def of_topics_there_are(topic_ids: Callable[[str], bytes | None]) -> Staying:
    """Offsets go whose topic is gone, or another topic now has its name. `topic_ids` gives the id of a name's topic."""

    def staying(name: str) -> tuple[bytes, ...]:
        topic_id = topic_ids(name)
        return () if topic_id is None else (topic_id, NO_TOPIC_ID)

    return staying


def sweep(durable: DurableGroups, staying: Staying) -> Iterator[tuple[str, GroupOutcome]]:
    """(group id, deletion of its offsets that do not stay, those in open transactions among them)."""
    for group_id in list(durable.group_ids()):
        going = []
        for topic, committed in durable.offsets(group_id).items():
            ids = staying(topic)
            if ids is not None:
                going += [(topic, number) for number, each in committed.items() if each.topic_id not in ids]
        for topic, number, pending in durable.pending(group_id):
            ids = staying(topic)
            if ids is not None and pending.topic_id not in ids:
                going.append((topic, number))
        chosen = [OffsetCommitted(group_id, *place, None) for place in dict.fromkeys(going)]
        for start in range(0, len(chosen), RECORDS_PER_BATCH):
            yield group_id, Outcome(records=tuple(chosen[start : start + RECORDS_PER_BATCH]))


def expire(machine: GroupMachine, group_id: str, now_ms: int, config: GroupConfig) -> Iterator[GroupOutcome]:
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
