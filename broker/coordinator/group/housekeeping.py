"""What becomes of committed offsets without anybody asking: their topic is deleted, or they grow too old.

Yields outcomes of a bounded number of records each, so that no batch outgrows the topic's largest message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from broker.coordinator.group import offsets
from broker.coordinator.group.draft import GroupOutcome
from broker.coordinator.group.machine import GroupMachine
from broker.coordinator.group.model import NO_TOPIC_ID, CommittedOffset, GroupConfig, OffsetCommitted
from broker.coordinator.group.state import DurableGroups
from broker.coordinator.outcome import Outcome

RECORDS_PER_BATCH = 1_000

Choose = Callable[[str, CommittedOffset], bool]
"""(topic name, what is committed for one of its partitions) -> whether it goes."""


def of_topic(name: str, committed: CommittedOffset, *, topic: str) -> bool:
    """Whether the offset belongs to a topic that was just deleted."""
    return name == topic


def of_missing_topics(name: str, committed: CommittedOffset, *, topic_ids: Callable[[str], bytes | None]) -> bool:
    """Whether the offset's topic is gone, or another topic now has its name."""
    topic_id = topic_ids(name)
    return topic_id is None or committed.topic_id not in (NO_TOPIC_ID, topic_id)


def sweep(durable: DurableGroups, choose: Choose) -> Iterator[tuple[str, GroupOutcome]]:
    """(group id, deletion of its chosen offsets, those in open transactions among them)."""
    for group_id in list(durable.group_ids()):
        partitions = {
            (topic, partition)
            for topic, offsets in durable.offsets(group_id).items()
            for partition, committed in offsets.items()
            if choose(topic, committed)
        }
        partitions |= {
            (topic, partition) for topic, partition, committed in durable.pending(group_id) if choose(topic, committed)
        }
        chosen = [OffsetCommitted(group_id, *place, None) for place in sorted(partitions)]
        for start in range(0, len(chosen), RECORDS_PER_BATCH):
            yield group_id, Outcome(records=tuple(chosen[start : start + RECORDS_PER_BATCH]))


def expire(machine: GroupMachine, now_ms: int, config: GroupConfig) -> Iterator[tuple[str, GroupOutcome]]:
    """(group id, expiry of its old offsets, and of the group with the last of them)."""
    for group in list(machine.groups()):
        durable, group_id = machine.durable, group.group_id
        outcome = offsets.expire(
            group, durable.offsets(group_id), unstable=durable.unstable(group_id), now_ms=now_ms, config=config
        )
        records = outcome.records
        while len(records) > RECORDS_PER_BATCH:
            yield group_id, Outcome(records=records[:RECORDS_PER_BATCH])
            records = records[RECORDS_PER_BATCH:]
        if records:
            yield group_id, replace(outcome, records=records)
