"""The rule about answers while things go wrong: whatever befalls it, a broker that lives answers."""

from collections.abc import Iterator

from tests.simulation.history.history import History

LIMIT_MS = 2_000  # a slow thread is slow by 400 ms, and more than one may be waited for
LATE_LIMIT_MS = 10_000  # likewise where a sync may be answered 2.5 s late


def hanging_requests(history: History) -> Iterator[str]:
    """No request is with the broker for longer than it allows it to wait, and a bound.

    Where slices are hasty the broker takes each for one of a second, and rests as long: nothing follows from that.
    """
    terms = history.terms
    limit_ms = LATE_LIMIT_MS if terms is not None and terms.syncs_are_late else LIMIT_MS
    limit_ms += 0 if terms is None else terms.failure_delay_ms
    for each in () if history.rests_long else history.unanswered:
        if each.held_ms > each.wait_ms + limit_ms:
            yield each.line()
