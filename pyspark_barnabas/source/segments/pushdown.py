"""Filters that Spark offers, turned into fewer partitions and shorter ranges of offsets.

Spark still applies every filter: here they only reduce reading. So a filter that is not understood costs time, and
never a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from pyspark_barnabas.source.segments.splits import OffsetBounds

_PLACE = ("topic", "partition")


class Wanted(NamedTuple):
    """The result of the filters: a test for (topic, partition), and a range of offsets."""

    place: Callable[[str, int], bool]
    offsets: OffsetBounds


def narrow(filters: Iterable[Any]) -> Wanted:
    """Return what is left to read. The filters are Spark's: EqualTo, In, GreaterThan …, known by class name."""
    tests: list[tuple[int, Callable[[Any], bool]]] = []
    start, end = 0, None
    for each in filters:
        kind, value = type(each).__name__, getattr(each, "value", None)
        column = ".".join(getattr(each, "attribute", ()))
        if column in _PLACE and (test := _test(kind, value)) is not None:
            tests.append((_PLACE.index(column), test))
        elif column == "offset" and (found := _offsets(kind, value)) is not None:
            start = max(start, found.start)
            end = found.end if end is None else end if found.end is None else min(end, found.end)

    def place(topic: str, partition: int) -> bool:
        return all(test((topic, partition)[at]) for at, test in tests)

    return Wanted(place, OffsetBounds(start, end))


def _test(kind: str, value: Any) -> Callable[[Any], bool] | None:
    tests: dict[str, Callable[[Any], bool]] = {
        "EqualTo": lambda found: bool(found == value),
        "EqualNullSafe": lambda found: bool(found == value),
        "In": lambda found: found in value,
        "GreaterThan": lambda found: bool(found > value),
        "GreaterThanOrEqual": lambda found: bool(found >= value),
        "LessThan": lambda found: bool(found < value),
        "LessThanOrEqual": lambda found: bool(found <= value),
        "StringStartsWith": lambda found: str(found).startswith(value),
    }
    return tests.get(kind)


def _offsets(kind: str, value: Any) -> OffsetBounds | None:
    ranges: dict[str, Callable[[], OffsetBounds]] = {
        "EqualTo": lambda: OffsetBounds(value, value + 1),
        "EqualNullSafe": lambda: OffsetBounds(value, value + 1),
        "In": lambda: OffsetBounds(min(value), max(value) + 1),
        "GreaterThan": lambda: OffsetBounds(value + 1),
        "GreaterThanOrEqual": lambda: OffsetBounds(value),
        "LessThan": lambda: OffsetBounds(0, value),
        "LessThanOrEqual": lambda: OffsetBounds(0, value + 1),
    }
    return ranges[kind]() if kind in ranges and value not in (None, ()) else None
