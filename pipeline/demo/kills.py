"""The plan of the kills, made from a seed before anything starts. Pure."""

from __future__ import annotations

import random
from enum import StrEnum
from typing import NamedTuple


class Victim(StrEnum):
    """The kinds of processes that can be killed."""

    WORKER = "Python workers"
    BROKER = "broker"
    DRIVER = "Spark driver"


class Kill(NamedTuple):
    """One kill, `at_s` seconds after the queries began."""

    at_s: float
    victim: Victim


def plan(seed: int, seconds: float, count: int) -> list[Kill]:
    """Plan `count` kills within `seconds`, each at a random time of its slot; victims repeat only after all had a turn.

    The driver comes last in each round: it needs the longest time to restart.
    """
    randomness = random.Random(seed)
    victims: list[Victim] = []
    while len(victims) < count:
        round_ = [Victim.WORKER, Victim.BROKER]
        randomness.shuffle(round_)
        victims += [*round_, Victim.DRIVER]
    slot = seconds / max(1, count)
    return [Kill((at + randomness.uniform(0.2, 0.8)) * slot, victim) for at, victim in enumerate(victims[:count])]
