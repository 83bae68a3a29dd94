"""What of a plan is about logs of which something goes: a compacted topic, and one of which retention deletes."""

import random
from dataclasses import dataclass

from tests.simulation.plans.plan import Configs

QUICK_DELETION = {
    "log.retention.check.interval.ms": "500",
    "log.segment.delete.delay.ms": "500",
    "log.flush.start.offset.checkpoint.interval.ms": "1000",
}
QUICK_CLEANING = {"log.cleaner.backoff.ms": "300"}
LOG_FEATURES = ("compaction", "retention")
_FEATURE = 0.2  # how probable each is


@dataclass(frozen=True, slots=True)
class LogPlan:
    """How many write to each of the topics, and what these are set to."""

    features: frozenset[str]
    compacted: int
    compaction: Configs
    ageing: int
    retention: Configs


def logs_of(seed: int, *, has_any: bool) -> LogPlan:
    """Of the run of a seed, if it may have any."""
    dice = random.Random(f"{seed}/logs")
    features = frozenset(feature for feature in LOG_FEATURES if dice.random() < _FEATURE and has_any)
    compacted, ageing = dice.randint(1, 2), dice.randint(1, 2)
    small = {
        "segment.index.bytes": dice.choice(["40", "100"]),
        "index.interval.bytes": "1",
        "segment.ms": dice.choice(["100", "500"]),
        "file.delete.delay.ms": "500",
        "flush.ms": "200",
    }
    compaction = small | {
        "cleanup.policy": dice.choice(["compact", "compact", "compact,delete"]),
        "min.cleanable.dirty.ratio": "0.01",
        "delete.retention.ms": dice.choice(["500", "2000", "5000"]),
        "retention.ms": dice.choice(["1000", "4000"]),
    }
    retention = small | {"cleanup.policy": "delete", "retention.ms": dice.choice(["200", "1000", "3000"])}
    if dice.random() < 0.3:
        retention["retention.bytes"] = dice.choice(["300", "1000"])
    return LogPlan(
        features=features,
        compacted=compacted if "compaction" in features else 0,
        compaction=tuple(compaction.items()),
        ageing=ageing if "retention" in features else 0,
        retention=tuple(retention.items()),
    )
