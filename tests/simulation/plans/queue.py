"""The part of a plan that is about a share group (KIP-932) and a streams group (KIP-1071).

Each tenth run has a share group, half of these a streams group, too; and none of them has the other clients that only
a part of the runs has: so it takes no longer than they.
"""

import random
from dataclasses import dataclass
from typing import Any

STREAMS = "streams"

_EACH, _LAST_DIGIT = 10, 8


@dataclass(frozen=True, slots=True)
class QueuePlan:
    """Times in milliseconds of the world."""

    lock_ms: int = 2_000
    delivery_count_limit: int = 5
    record_locks_max: int = 2_000
    is_committed: bool = False
    """Whether the group reads committed records only."""
    has_dead_letters: bool = False
    """Whether it has a dead-letter queue (KIP-1191)."""
    resetters: int = 0
    """How many set the group's offsets."""
    standbys: int = 0
    """How many standby tasks each task of the streams group has, which has state then."""

    def settings(self) -> dict[str, str]:
        """The broker's."""
        return {
            "share.coordinator.state.topic.num.partitions": "2",
            "share.coordinator.snapshot.update.records.per.snapshot": "20",
            "group.share.min.record.lock.duration.ms": "1000",
            "group.share.record.lock.duration.ms": str(self.lock_ms),
            "group.share.delivery.count.limit": str(self.delivery_count_limit),
            "group.share.partition.max.record.locks": str(self.record_locks_max),
            "group.share.min.session.timeout.ms": "100",
            "group.share.session.timeout.ms": "2000",
            "group.share.min.heartbeat.interval.ms": "100",
            "group.share.heartbeat.interval.ms": "500",
            "group.share.assignment.interval.ms": "100",
            "group.streams.min.session.timeout.ms": "100",
            "group.streams.session.timeout.ms": "2000",
            "group.streams.min.heartbeat.interval.ms": "100",
            "group.streams.heartbeat.interval.ms": "500",
            "group.streams.assignment.interval.ms": "100",
            "group.streams.initial.rebalance.delay.ms": "300",
            "group.streams.num.standby.replicas": str(self.standbys),
        }


def sharers_for(seed: int) -> int:
    """How many members the share group of a run has; most runs have none."""
    return random.Random(f"{seed}/sharers").randint(1, 4) if seed % _EACH == _LAST_DIGIT else 0


def queue_for(seed: int) -> QueuePlan:
    """What the share group of a run is like."""
    dice = random.Random(f"{seed}/queue")
    return QueuePlan(
        lock_ms=dice.choice([1_000, 2_000, 4_000]),
        delivery_count_limit=dice.choice([2, 3, 5, 10]),
        record_locks_max=dice.choice([100, 2_000]),
        is_committed=dice.random() < 0.5,
        has_dead_letters=dice.random() < 0.6,
        resetters=int(dice.random() < 0.4),
        standbys=dice.choice([0, 1, 1, 2]),
    )


def streams_group_for(seed: int) -> dict[str, Any]:
    """The fields of a plan that are about groups, where there is a share group."""
    dice = random.Random(f"{seed}/streams group")
    return {
        "members": dice.randint(1, 4) if dice.random() < 0.5 else 0,
        "processors": 0,
        "group_protocol": STREAMS,
        "static_members": dice.random() < 0.3,
        "inputs": dice.randint(1, 5),
    }
