"""The rule about answers while things go wrong: whatever befalls it, a broker that lives answers."""

from __future__ import annotations

from collections.abc import Iterator

from tests.simulation.history.history import History

LIMIT_MS = 2_000  # a slow thread is slow by 400 ms, and more than one may be waited for


def hanging_requests(history: History) -> Iterator[str]:
    """No request is with the broker for longer than it allows it to wait, and a bound.

    Where slices are hasty the broker takes each for one of a second, and rests as long: nothing follows from that.
    """
    for each in () if history.rests_long else history.unanswered:
        if each.held_ms > each.wait_ms + LIMIT_MS:
            yield each.line()
