"""OpenTelemetry's MetricsData (metrics/v1, protobuf) as far as clients send it: gauges and sums, point by point.

Reads exactly the fields below and passes over everything else. Invariants: no recursion, so nesting costs nothing;
every length is inside its message before it is used; between two pauses some BYTES_A_STEP are read, or one point, or
what there is of a metric beside its points. Points of histograms and summaries, and those of more than POINT_BYTES_MAX,
are counted and not read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.storage.steps import Steps

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_RESOURCE_METRICS, _SCOPE_METRICS, _METRICS = 1, 2, 2
_NAME, _GAUGE, _SUM, _OTHERS = 1, 5, 7, (9, 10, 11)  # of a metric; the others are histograms and summaries
_POINTS, _TEMPORALITY, _MONOTONIC = 1, 2, 3  # of a gauge or a sum
_DOUBLE, _INT, _ATTRIBUTES = 4, 6, 7  # of a point
_KEY, _VALUE = 1, 2  # of an attribute
_DELTA = 1
_VARINT_BYTES_MAX = 10
_FIELD_BYTES_MIN = 2
BYTES_A_STEP = 4_096
POINT_BYTES_MAX = 8_192
"""A point with more could not be kept for its text, or has fields that nobody knows."""
METRIC_FIELDS_MAX = 1_000
"""Of a metric itself, which has seven."""
_FIELDS_A_STEP = 1_000
_PATH = (_RESOURCE_METRICS, _SCOPE_METRICS, _METRICS)

Field = tuple[int, int, int, memoryview]
"""Number, wire type, value of a number, content of bytes."""
_NOTHING = memoryview(b"")


class Point(NamedTuple):
    """One value of one series. is_delta: it is to be added to what there is, and not put in its place."""

    name: str
    attributes: tuple[tuple[str, str], ...]
    value: float
    is_delta: bool = False


class Pushed(NamedTuple):
    """What a client pushed: its points, and how many there were that are not read."""

    points: list[Point]
    left_out: int


def read_metrics(data: bytes, points_max: int) -> Steps[Pushed]:
    """The points in `data`, the first `points_max` of them. DecodeError for what is no MetricsData."""
    points: list[Point] = []
    left_out = 0
    for metric in _metrics(memoryview(data)):
        yield
        if metric is None:
            continue
        name, kind, body = _metric(metric)
        is_read = kind in (_GAUGE, _SUM)
        is_delta = kind == _SUM and (yield from _temporality(body)) == _DELTA
        for point in _points(body):
            if point is None:
                yield
            elif is_read and len(points) < points_max and len(point) <= POINT_BYTES_MAX:
                points.append(_point(name, point, is_delta))
            else:
                left_out += 1
    return Pushed(points, left_out)


def _metrics(data: memoryview) -> Iterator[memoryview | None]:
    """The metrics of all scopes of all resources; None is a pause after any other field."""
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
    """Its name, which kind of data it has (0: none), and these."""
    name, kind, body = "", 0, _NOTHING
    for count, (number, wire, _, content) in enumerate(fields(data)):
        if count == METRIC_FIELDS_MAX:
            raise DecodeError(f"a metric of more than {METRIC_FIELDS_MAX} fields")
        if wire == BYTES and number == _NAME:
            name = _text(content)
        elif wire == BYTES and number in (_GAUGE, _SUM, *_OTHERS):
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
    """The points of a gauge, a sum or a histogram; None is a pause."""
    passed = 0
    for number, wire, _, content in fields(data):
        if (number, wire) == (_POINTS, BYTES):
            yield content
        passed += _FIELD_BYTES_MIN + len(content)
        if passed >= BYTES_A_STEP:
            passed = 0
            yield None


def _point(name: str, data: memoryview, is_delta: bool) -> Point:
    value = 0.0
    attributes: dict[str, str] = {}
    for number, wire, bits, content in fields(data):
        if wire == FIXED64 and number == _DOUBLE:
            (value,) = struct.unpack("<d", bits.to_bytes(8, "little"))
        elif wire == FIXED64 and number == _INT:
            value = float(bits - (1 << 64) if bits >> 63 else bits)
        elif wire == BYTES and number == _ATTRIBUTES:
            key, text = _attribute(content)
            attributes[key] = text
    return Point(name, tuple(sorted(attributes.items())), value, is_delta)


def _attribute(data: memoryview) -> tuple[str, str]:
    key, text = "", ""
    for number, wire, _, content in fields(data):
        if wire == BYTES and number == _KEY:
            key = _text(content)
        elif wire == BYTES and number == _VALUE:
            text = _any_value(content)
    return key, text


def _any_value(data: memoryview) -> str:
    """The text of a text, truth value or number; nothing for lists and bytes."""
    text = ""
    for number, wire, bits, content in fields(data):
        match number, wire:
            case 1, 2:
                text = _text(content)
            case 2, 0:
                text = "true" if bits else "false"
            case 3, 0:
                text = str(bits - (1 << 64) if bits >> 63 else bits)
            case 4, 1:
                text = repr(struct.unpack("<d", bits.to_bytes(8, "little"))[0])
    return text


def _text(content: memoryview) -> str:
    try:
        return str(content, "utf-8")
    except UnicodeDecodeError as error:
        raise DecodeError(f"a text that is not UTF-8: {error}") from error


# --- protobuf's wire format ---


def fields(data: memoryview) -> Iterator[Field]:
    """The fields of a message, in their order. DecodeError where it is damaged."""
    position, end = 0, len(data)
    while position < end:
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        value, content = 0, _NOTHING
        if wire == VARINT:
            value, position = _varint(data, position)
        elif wire == BYTES:
            size, position = _varint(data, position)
            content, position = _cut(data, position, size)
        elif wire in (FIXED64, FIXED32):
            content, position = _cut(data, position, 8 if wire == FIXED64 else 4)
            value = int.from_bytes(content, "little")
        else:
            raise DecodeError(f"wire type {wire} at byte {position}")
        if number == 0:
            raise DecodeError(f"field number 0 at byte {position}")
        yield number, wire, value, content


def _cut(data: memoryview, position: int, size: int) -> tuple[memoryview, int]:
    if size > len(data) - position:
        raise DecodeError(f"a field of {size} bytes runs past the end at byte {position}")
    return data[position : position + size], position + size


def _varint(data: memoryview, position: int) -> tuple[int, int]:
    value = 0
    for shift, byte in enumerate(data[position : position + _VARINT_BYTES_MAX]):
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, position + shift + 1
    raise DecodeError(f"a number without an end at byte {position}")
