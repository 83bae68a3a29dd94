"""What is asked of the faults that a test arms, where a broker has them: what they hold up at present."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from barnabas.broker.insight.why.rules.held import HeldFacts


class HeldUp(Protocol):
    """Who knows what faults hold up."""

    def requests(self) -> Iterable[HeldFacts]:
        """Every request that is held up now, one after another. What is so later may be missing."""

    def steps(self) -> Iterable[HeldFacts]:
        """Every transaction whose end stands at a step."""


class NothingHeldUp:
    """Where no faults are."""

    def requests(self) -> Iterable[HeldFacts]:
        """None."""
        return ()

    def steps(self) -> Iterable[HeldFacts]:
        """None."""
        return ()


NOTHING_HELD_UP = NothingHeldUp()
