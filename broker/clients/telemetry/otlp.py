"""OpenTelemetry's MetricsData (metrics/v1, protobuf) as far as clients send it: gauges, sums and histograms.

The protobuf library would need a few megabytes for all of OpenTelemetry, and would read a push in one go; six kinds of
messages of a frozen format are enough. Reads exactly the fields below and skips everything else. Invariants: between
two pauses some BYTES_A_STEP are read, or one point, or the fields of a metric other than its points. Points of
exponential histograms and of summaries, invalid histograms, and points larger than POINT_BYTES_MAX are counted and not
read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from barnabas.broker.clients.telemetry.points import Attributes, Point, Value, histogram_point, number_point
from barnabas.broker.clients.telemetry.protobuf import BYTES, NOTHING, VARINT, fields, text
from barnabas.protocol.errors import DecodeError
from barnabas.storage.steps import Steps

_RESOURCE_METRICS, _SCOPE_METRICS, _METRICS = 1, 2, 2
_NAME, _GAUGE, _SUM, _HISTOGRAM = 1, 5, 7, 9  # of a metric
_OTHERS = (10, 11)  # exponential histograms and summaries
_POINTS, _TEMPORALITY = 1, 2  # of a metric's data
_DELTA = 1
_FIELD_BYTES_MIN = 2
BYTES_A_STEP = 4_096
POINT_BYTES_MAX = 8_192
"""A larger point could not be stored because of its text, or has unknown fields."""
METRIC_FIELDS_MAX = 1_000
"""The maximum number of fields of a metric itself, which has seven."""
_FIELDS_A_STEP = 1_000
_PATH = (_RESOURCE_METRICS, _SCOPE_METRICS, _METRICS)
_READERS: dict[int, Callable[[memoryview], tuple[Attributes, Value | None]]] = {
    _GAUGE: number_point,
    _SUM: number_point,
    _HISTOGRAM: histogram_point,
}


class Pushed(NamedTuple):
    """The points that a client pushed, and the number of points that were not read."""

    points: list[Point]
    left_out: int


def read_metrics(data: bytes, points_max: int) -> Steps[Pushed]:
    """Return the first `points_max` points in `data`, in steps. Raise DecodeError if it is no MetricsData."""
    points: list[Point] = []
    left_out = 0
    for metric in _metrics(memoryview(data)):
        yield
        if metric is None:
            continue
        name, kind, body = _metric(metric)
        read = _READERS.get(kind)
        is_delta = kind in (_SUM, _HISTOGRAM) and (yield from _temporality(body)) == _DELTA
        for point in _points(body):
            if point is None:
                yield
                continue
            value = None
            if read is not None and len(points) < points_max and len(point) <= POINT_BYTES_MAX:
                attributes, value = read(point)
            if value is None:
                left_out += 1
            else:
                points.append(Point(name, attributes, value, is_delta))
    return Pushed(points, left_out)


def _metrics(data: memoryview) -> Iterator[memoryview | None]:
    """Yield the metrics of all scopes of all resources; None is a pause after any other field."""
    levels = [fields(data)]
    while levels:
        for number, wire, _, content in levels[-1]:
            if (number, wire) != (_PATH[len(levels) - 1], BYTES):
                yield None
            elif len(levels) == len(_PATH):
                yield content
            else:
                levels.append(fields(content))
                break
        else:
            levels.pop()
        yield None


def _metric(data: memoryview) -> tuple[str, int, memoryview]:
    """Return a metric's name, the type of its data (0: none), and the data."""
    name, kind, body = "", 0, NOTHING
    for count, (number, wire, _, content) in enumerate(fields(data)):
        if count == METRIC_FIELDS_MAX:
            raise DecodeError(f"a metric of more than {METRIC_FIELDS_MAX} fields")
        if wire == BYTES and number == _NAME:
            name = text(content)
        elif wire == BYTES and number in (*_READERS, *_OTHERS):
            kind, body = number, content
    return name, kind, body


def _temporality(data: memoryview) -> Steps[int]:
    found = 0
    for count, (number, wire, value, _) in enumerate(fields(data), start=1):
        if (number, wire) == (_TEMPORALITY, VARINT):
            found = value
        if count % _FIELDS_A_STEP == 0:
            yield
    return found


def _points(data: memoryview) -> Iterator[memoryview | None]:
    """Yield the points of a gauge, a sum or a histogram; None is a pause."""
    passed = 0
    for number, wire, _, content in fields(data):
        if (number, wire) == (_POINTS, BYTES):
            yield content
        passed += _FIELD_BYTES_MIN + len(content)
        if passed >= BYTES_A_STEP:
            passed = 0
            yield None
