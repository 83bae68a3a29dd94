"""The part of a plan that is about the Spark sink."""

import random
from dataclasses import dataclass

_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class SinkPlan:
    """Probabilities but for the first few."""

    tasks: int = 1
    """How many a batch has."""
    rows: int = 4
    """How many rows a batch has at most."""
    delivery_ms: int = 15_000
    """After how long the sink gives up."""
    timeout_ms: int = 600_000
    """Of transactions, where the broker offers no two-phase commits."""
    slow_s: float = 0.4
    """How long a task waits for its next rows at most, where it waits."""
    two_phase: bool = False
    """Whether the broker offers two-phase commits (KIP-939)."""
    is_atomic: bool = False
    """Whether all tasks of a batch write in one transaction."""
    driver_ends: float = 0.0
    """That who commits a batch dies at one of its requests, with its driver or without, or stands still for a while."""
    worker_ends: float = 0.0
    """The same of the process of a task."""
    twice: float = 0.0
    """That a task is run twice at a time."""
    impatience: float = 0.0
    """That a driver is taken for dead, and is not."""
    new_checkpoints: float = 0.0
    """That the next start is of another query, under the same prefix."""


def sink_for(seed: int, *, clock_jumps: bool) -> SinkPlan | None:
    """What sink the run of a seed has; most have none.

    Where the clock may jump over every timeout, transactions have none or a short one: a decided one that times out is
    lost (docs/decisions/0080), and only of short ones the rules know that.
    """
    dice = random.Random(f"{seed}/sink")
    if dice.random() >= _SHARE:
        return None
    is_atomic = dice.random() < 0.2
    is_short = dice.random() < 0.35
    two_phase = not is_short and (dice.random() < 0.5 or clock_jumps)
    return SinkPlan(
        tasks=dice.randint(1, 3),
        rows=dice.choice([2, 4, 8]),
        delivery_ms=dice.choice([500, 2_000, 15_000]),
        two_phase=two_phase,
        timeout_ms=800 if is_short else 600_000,
        slow_s=4.0 if is_short else 0.4,
        is_atomic=is_atomic,
        driver_ends=dice.choice([0.0, 0.3, 0.6]),
        worker_ends=dice.choice([0.0, 0.05, 0.2]),
        twice=0.0 if is_atomic else dice.choice([0.0, 0.2]),
        impatience=dice.choice([0.0, 0.5]),
        new_checkpoints=dice.choice([0.0, 0.5]),
    )
