# compiled: mypyc, as a traced broker runs it for each event
"""One event as the history stores it: numbered, with its times and its cause, and of bounded size. Pure.

Each event passes here while the broker serves, so only those of its facts are examined that may be long texts or
lists: all but the names in `SMALL`, which tests/broker/insight/history/test_trace_event.py checks against the events.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from barnabas.broker.runtime.events.events import Facts
from barnabas.broker.runtime.events.kind import EventKind

TEXT_MAX: Final = 256
_FIXED_BYTES: Final = 400
"""Approximate size of an event without its facts."""
_FACT_BYTES: Final = 50
"""Approximate size of a fact without its text."""
SMALL: Final = frozenset(
    {
        "ahead_ms",
        "api",
        "base_offset",
        "bytes_after",
        "bytes_before",
        "change",
        "connections",
        "count",
        "dead_letter_offset",
        "dead_letter_partition",
        "delivery_count",
        "does",
        "error",
        "failed_count",
        "generation",
        "is_again",
        "is_commit",
        "is_refused",
        "is_tried_again",
        "lock_ms",
        "members_count",
        "new_producer_epoch",
        "node",
        "now",
        "offset",
        "offsets_count",
        "open_for_ms",
        "operation",
        "partition",
        "partitions_count",
        "position",
        "previous_producer_epoch",
        "previous_producer_id",
        "producer_epoch",
        "producer_id",
        "protocol",
        "quota",
        "records_count",
        "records_kept",
        "resource",
        "session_timeout_ms",
        "state",
        "throttle_ms",
        "timeout_ms",
        "took_ms",
        "topics_count",
        "type",
        "version",
        "wait_ms",
        "was",
    }
)
"""Names of facts that are numbers, booleans or fixed words, never texts of any length nor lists."""


class TraceEvent:
    """An event. at_ms: by the broker's clock, which clients see. cause: what caused it; empty if unknown."""

    __slots__ = ("_number", "at_ms", "cause", "facts", "kind", "machine_at_ms", "size_bytes")

    def __init__(
        self,
        number: int,
        at_ms: int,
        machine_at_ms: int,
        kind: str,
        facts: Mapping[str, Any],
        cause: Mapping[str, Any],
        size_bytes: int = 0,
    ) -> None:
        """Create an event. number: 0 for an event that is not stored."""
        self._number = number
        self.at_ms = at_ms
        self.machine_at_ms = machine_at_ms
        self.kind = kind
        self.facts = facts
        self.cause = cause
        self.size_bytes = size_bytes
        """Approximate size in memory."""

    @property
    def number(self) -> int | None:
        """Number of the event, from 1; None if it is not stored."""
        return self._number or None

    def fact(self, name: str) -> Any:
        """Return the fact of this name of the event, or else of its cause; None if neither has it."""
        found = self.facts.get(name)
        return self.cause.get(name) if found is None else found

    def as_json(self) -> dict[str, Any]:
        """Return the event in the JSON form of /control/trace."""
        return {
            "number": self.number,
            "at_ms": self.at_ms,
            "machine_at_ms": self.machine_at_ms,
            "kind": self.kind,
            "facts": self.facts,
            "cause": self.cause,
        }


def bounded(facts: Facts) -> tuple[Facts, int]:
    """Return the facts with texts cut to TEXT_MAX, and their approximate size in memory, which bounds the ring."""
    size = _FACT_BYTES * len(facts)
    cut: Facts = {}
    for name, value in facts.items():
        if isinstance(value, str):
            if len(value) > TEXT_MAX:
                cut[name] = value = _cut(value)
            size += len(value)
        elif isinstance(value, list):
            cut[name] = texts = [_cut(each) for each in value]
            size += sum([_FACT_BYTES + len(each) for each in texts])
    return ({**facts, **cut} if cut else facts), size


def bounded_event(kind: EventKind, facts: Facts) -> tuple[Facts, int]:
    """Return the facts of an event as `bounded` does, and the approximate size of the event without its cause."""
    name = kind.name
    long = _long.get(name)
    if long is None:
        long = _long[name] = tuple([each for each in kind.facts if each not in SMALL])
    size = _FIXED_BYTES + _FACT_BYTES * len(facts)
    for each in long:
        value = facts.get(each)
        if isinstance(value, str):
            if len(value) > TEXT_MAX:
                return _cut_event(facts)
            size += len(value)
        elif isinstance(value, list):
            for text in value:
                if len(text) > TEXT_MAX:
                    return _cut_event(facts)
                size += _FACT_BYTES + len(text)
    return facts, size


_long: dict[str, tuple[str, ...]] = {}
"""Kind -> the names of its facts that are examined."""


def _cut_event(facts: Facts) -> tuple[Facts, int]:
    cut, size = bounded(facts)
    return cut, _FIXED_BYTES + size


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_MAX else text[: TEXT_MAX - 1] + "…"
