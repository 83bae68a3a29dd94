"""Who is killed when: a plan made from a seed before anything starts. Pure."""

from __future__ import annotations

import random
from enum import StrEnum
from typing import NamedTuple


class Victim(StrEnum):
    """What can be killed."""

    WORKER = "Python workers"
    BROKER = "broker"
    DRIVER = "Spark driver"


class Kill(NamedTuple):
    """Someone is killed, `at_s` seconds after the queries began."""

    at_s: float
    victim: Victim


def plan(seed: int, seconds: float, count: int) -> list[Kill]:
    """`count` kills within `seconds`, each somewhere in a slot of its own, every victim before any comes up again.

    The driver comes last of each round: it takes the longest to come back.
    """
    randomness = random.Random(seed)
    victims: list[Victim] = []
    while len(victims) < count:
        round_ = [Victim.WORKER, Victim.BROKER]
        randomness.shuffle(round_)
        victims += [*round_, Victim.DRIVER]
    slot = seconds / max(1, count)
    return [Kill((at + randomness.uniform(0.2, 0.8)) * slot, victim) for at, victim in enumerate(victims[:count])]
