"""The criterion for a warm peer: it runs the very load that is measured next, slice by slice, until its rate is flat.

Knows neither brokers nor loads: a rate is any number of which more is better. `is_flat` is a pure function of the
rates; its result does not depend on their unit.
"""

import itertools
import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple

WINDOW = 3
"""The number of last slices that are compared with as many before them."""
SPREAD = 0.08
"""How far the last slices may differ, and how far they may have fallen, as a share of their median."""
RISE = 0.03
"""How much the rate may have risen from one window to the next, or within the last one."""


class Warming(NamedTuple):
    """How a peer was warmed. `seconds` counts the slices with their set-up; `level` is the rate it came to; `is_full`:
    it was ended because the peer held much memory.
    """

    seconds: float
    is_flat: bool
    rates: list[float]
    is_full: bool = False

    @property
    def level(self) -> float:
        return statistics.median(self.rates[-WINDOW:])

    def in_words(self) -> str:
        end = "it held much memory" if self.is_full else "the time was up"
        return f"{self.seconds:.0f} s, " + ("flat" if self.is_flat else f"NOT flat when {end}")


def is_flat(rates: Sequence[float]) -> bool:
    """Return whether the last slices are close together and do not rise, among themselves or above those before."""
    if len(rates) < 2 * WINDOW:
        return False
    before, last = rates[-2 * WINDOW : -WINDOW], rates[-WINDOW:]
    level, former = statistics.median(last), statistics.median(before)
    is_close = max(last) - min(last) <= SPREAD * level
    rises_inside = all(a < b for a, b in itertools.pairwise(last)) and last[-1] > (1 + RISE) * last[0]
    is_level = (1 - SPREAD) * former <= level <= (1 + RISE) * former
    return is_close and is_level and not rises_inside


def warm_until_flat(
    slice_rate: Callable[[], float],
    clock: Callable[[], float],
    cap_s: float,
    is_full: Callable[[], bool] = lambda: False,
) -> Warming:
    """Run slices until their rate is flat; start no further one once `cap_s` are over, or the peer holds much memory.

    slice_rate: runs one slice and returns its rate; clock: seconds that never go back. `is_full` is asked once there
    are enough slices for a rate that is flat.
    """
    begun = clock()
    rates: list[float] = []
    while True:
        rates.append(slice_rate())
        seconds = clock() - begun
        flat, full = is_flat(rates), len(rates) >= 2 * WINDOW and is_full()
        if flat or full or seconds >= cap_s:
            return Warming(seconds, flat, rates, full)
