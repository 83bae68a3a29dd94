"""The interface to the faults that a test arms, if the broker has them: the requests and steps they hold up now."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from barnabas.broker.insight.why.rules.held_requests import HeldFacts


class HeldUpSource(Protocol):
    """The source of requests and steps held up by faults."""

    def requests(self) -> Iterable[HeldFacts]:
        """Yield every request that is held up now. Requests held up later may be missing."""

    def steps(self) -> Iterable[HeldFacts]:
        """Yield what is stopped at a step: the ends of transactions, and the work for share partitions."""


class NothingHeldUp:
    """The `HeldUpSource` of a broker without faults."""

    def requests(self) -> Iterable[HeldFacts]:
        """Return nothing."""
        return ()

    def steps(self) -> Iterable[HeldFacts]:
        """Return nothing."""
        return ()


NOTHING_HELD_UP = NothingHeldUp()
