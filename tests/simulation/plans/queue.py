"""The part of a plan that is about a share group (KIP-932).

Each tenth run has one, and none of the other clients that only a part of the runs has: so it takes no longer than they.
"""

import random
from dataclasses import dataclass

_EACH, _LAST_DIGIT = 10, 8


@dataclass(frozen=True, slots=True)
class QueuePlan:
    """Times in milliseconds of the world."""

    sharers: int = 0
    """How many members the share group has."""
    lock_ms: int = 2_000
    delivery_count_limit: int = 5
    record_locks_max: int = 2_000
    is_committed: bool = False
    """Whether the group reads committed records only."""

    def settings(self) -> dict[str, str]:
        """The broker's."""
        return {
            "barnabas.preview.groups.enable": "true",
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
        }


def queue_for(seed: int) -> QueuePlan | None:
    """What share group the run of a seed has; most have none."""
    if seed % _EACH != _LAST_DIGIT:
        return None
    dice = random.Random(f"{seed}/queue")
    return QueuePlan(
        sharers=dice.randint(1, 4),
        lock_ms=dice.choice([1_000, 2_000, 4_000]),
        delivery_count_limit=dice.choice([2, 3, 5, 10]),
        record_locks_max=dice.choice([100, 2_000]),
        is_committed=dice.random() < 0.5,
    )
