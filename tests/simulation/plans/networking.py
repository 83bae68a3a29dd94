"""How much worse than slow and cut a run's network is: what ends connections, and what holds their bytes up.

Drawn with dice of its own, and switched on in a part of the seeds, so that a plan without it is what it was.
"""

import random
from dataclasses import dataclass, fields, replace

from tests.simulation.world.network import Weather

_SHARE = 0.15  # of the seeds, for each
_IDLE_MS = 800


@dataclass(frozen=True, slots=True)
class WorseNetwork:
    """Fields of the weather with the same names."""

    close: float
    vanish: float
    stall: float
    crumbs: float

    def weather(self, before: Weather) -> Weather:
        """The weather, and this."""
        return replace(before, close=self.close, vanish=self.vanish, stall=self.stall, crumbs=self.crumbs)

    def settings(self) -> dict[str, str]:
        """Of the broker: what is left of connections that nobody ends has to be gone when the run is over."""
        return {"connections.max.idle.ms": str(_IDLE_MS)} if self.vanish else {}

    def features(self) -> set[str]:
        """What of it is switched on, by name."""
        return {f"network {each.name}" for each in fields(self) if getattr(self, each.name)}


def worse_network(seed: int) -> WorseNetwork:
    """That of a seed."""
    dice = random.Random(f"{seed}/network")
    has = [dice.random() < _SHARE for _ in fields(WorseNetwork)]
    often = [dice.choice(choices) for choices in ([0.01, 0.04], [0.005, 0.02], [0.02, 0.1], [0.05, 0.3])]
    return WorseNetwork(*(share if is_on else 0.0 for share, is_on in zip(often, has, strict=True)))
