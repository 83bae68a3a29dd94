"""Single points of OpenTelemetry's metrics: NumberDataPoint and HistogramDataPoint (metrics/v1, protobuf).

A point is read at once, so the caller must ensure that it is not long. Fields that are not named here are skipped. A
histogram is valid if Prometheus accepts it, too: bounds that rise and are finite, one count more than bounds, and no
more buckets than BUCKETS_MAX.
"""

from __future__ import annotations

from itertools import pairwise
from math import inf
from typing import NamedTuple

from barnabas.broker.clients.telemetry.protobuf import BYTES, FIXED64, double, fields, signed, text, words

BUCKETS_MAX = 100
"""The maximum number of buckets of a histogram, including the one without an upper bound."""

_KEY, _VALUE = 1, 2  # of an attribute
_DOUBLE, _INT, _ATTRIBUTES = 4, 6, 7  # of a number's point
_COUNT, _TOTAL, _COUNTS, _BOUNDS, _HISTOGRAM_ATTRIBUTES = 4, 5, 6, 7, 9  # of a histogram's point

Attributes = tuple[tuple[str, str], ...]


class Histogram(NamedTuple):
    """The number of values up to each bound, and above the last; and their sum, if the client sends it."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    total: float | None

    def plus(self, more: Histogram) -> Histogram:
        """Return the sum of both. A histogram with other bounds replaces this one."""
        if more.bounds != self.bounds:
            return more
        counts = tuple(map(sum, zip(self.counts, more.counts, strict=True)))
        total = None if self.total is None or more.total is None else self.total + more.total
        return Histogram(self.bounds, counts, total)


Value = float | Histogram


class Point(NamedTuple):
    """One value of one series. is_delta: it is added to the current value, and does not replace it."""

    name: str
    attributes: Attributes
    value: Value
    is_delta: bool = False


def number_point(data: memoryview) -> tuple[Attributes, float]:
    """Return the attributes and the value of a gauge's or a sum's point."""
    value = 0.0
    attributes: dict[str, str] = {}
    for number, wire, bits, content in fields(data):
        if wire == FIXED64 and number == _DOUBLE:
            value = double(bits)
        elif wire == FIXED64 and number == _INT:
            value = float(signed(bits))
        elif wire == BYTES and number == _ATTRIBUTES:
            key, attribute = _attribute(content)
            attributes[key] = attribute
    return tuple(sorted(attributes.items())), value


def histogram_point(data: memoryview) -> tuple[Attributes, Histogram | None]:
    """Return the attributes and the value of a histogram's point; no value if its numbers contradict each other."""
    count, total = 0, None
    counts: list[int] = []
    bounds: list[float] = []
    attributes: dict[str, str] = {}
    for number, wire, bits, content in fields(data):
        if wire == FIXED64 and number == _COUNT:
            count = bits
        elif wire == FIXED64 and number == _TOTAL:
            total = double(bits)
        elif number == _COUNTS:
            counts += words(wire, bits, content)
        elif number == _BOUNDS:
            bounds += map(double, words(wire, bits, content))
        elif wire == BYTES and number == _HISTOGRAM_ATTRIBUTES:
            key, attribute = _attribute(content)
            attributes[key] = attribute
    found = Histogram(tuple(bounds), tuple(counts or [count]), total)
    return tuple(sorted(attributes.items())), found if _is_sound(found, count) else None


def _is_sound(found: Histogram, count: int) -> bool:
    edges = (-inf, *found.bounds, inf)
    return (
        len(found.counts) == len(found.bounds) + 1 <= BUCKETS_MAX
        and sum(found.counts) == count
        and all(low < high for low, high in pairwise(edges))
    )


def _attribute(data: memoryview) -> tuple[str, str]:
    key, value = "", ""
    for number, wire, _, content in fields(data):
        if wire == BYTES and number == _KEY:
            key = text(content)
        elif wire == BYTES and number == _VALUE:
            value = _any_value(content)
    return key, value


def _any_value(data: memoryview) -> str:
    """Return a string, boolean or number as text; an empty text for lists and bytes."""
    value = ""
    for number, wire, bits, content in fields(data):
        match number, wire:
            case 1, 2:
                value = text(content)
            case 2, 0:
                value = "true" if bits else "false"
            case 3, 0:
                value = str(signed(bits))
            case 4, 1:
                value = repr(double(bits))
    return value
