"""OpenTelemetry's MetricsData (metrics/v1, protobuf) as far as clients send it: gauges and sums, point by point.

Reads exactly the fields below and passes over everything else. Invariants: no recursion, so nesting costs nothing;
every length is inside its message before it is used; between two pauses at most one message is read, or POINTS_A_STEP
points. Points of histograms and summaries are counted and not read.
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
POINTS_A_STEP = 50

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
        name, kind, body = _metric(metric)
        if kind in _OTHERS:
            left_out += sum(1 for number, wire, _, _ in fields(body) if (number, wire) == (_POINTS, BYTES))
        elif kind in (_GAUGE, _SUM):
            is_delta = kind == _SUM and _temporality(body) == _DELTA
            for count, point in enumerate(_points(body), start=1):
                if len(points) < points_max:
                    points.append(_point(name, point, is_delta))
                else:
                    left_out += 1
                if count % POINTS_A_STEP == 0:
                    yield
    return Pushed(points, left_out)


def _metrics(data: memoryview) -> Iterator[memoryview]:
    for resource in _messages(data, _RESOURCE_METRICS):
        for scope in _messages(resource, _SCOPE_METRICS):
            yield from _messages(scope, _METRICS)


def _metric(data: memoryview) -> tuple[str, int, memoryview]:
    """Its name, which kind of data it has (0: none), and these."""
    name, kind, body = "", 0, _NOTHING
    for number, wire, _, content in fields(data):
        if wire == BYTES and number == _NAME:
            name = _text(content)
        elif wire == BYTES and number in (_GAUGE, _SUM, *_OTHERS):
            kind, body = number, content
    return name, kind, body


def _temporality(data: memoryview) -> int:
    found = 0
    for number, wire, value, _ in fields(data):
        if (number, wire) == (_TEMPORALITY, VARINT):
            found = value
    return found


def _points(data: memoryview) -> Iterator[memoryview]:
    return _messages(data, _POINTS)


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


def _messages(data: memoryview, number: int) -> Iterator[memoryview]:
    return (content for found, wire, _, content in fields(data) if (found, wire) == (number, BYTES))


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
