"""OpenTelemetry's MetricsData written field by field, as clients send it (KIP-714)."""

import struct
from collections.abc import Sequence


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*out, number))


def message(number: int, content: bytes) -> bytes:
    """A field that holds a message, a text or bytes."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def number_field(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def double_field(number: int, value: float) -> bytes:
    return varint(number << 3 | 1) + struct.pack("<d", value)


def point(value: float, **attributes: str) -> bytes:
    """A point of a gauge or a sum."""
    named = [message(1, key.encode()) + message(2, message(1, text.encode())) for key, text in attributes.items()]
    return b"".join(message(7, each) for each in named) + double_field(4, value)


def whole_point(value: int) -> bytes:
    """The same with a whole number."""
    return varint(6 << 3 | 1) + struct.pack("<q", value)


def gauge(name: str, *points: bytes) -> bytes:
    return message(1, name.encode()) + message(5, b"".join(message(1, each) for each in points))


def sum_of(name: str, *points: bytes, is_delta: bool) -> bytes:
    body = b"".join(message(1, each) for each in points) + number_field(2, 1 if is_delta else 2) + number_field(3, 1)
    return message(1, name.encode()) + message(7, body)


def histogram(name: str, *points: bytes, temporality: int = 2) -> bytes:
    body = b"".join(message(1, each) for each in points) + number_field(2, temporality)
    return message(1, name.encode()) + message(9, body)


def histogram_point(
    bounds: Sequence[float], counts: Sequence[int], *, total: float, is_packed: bool = True, **attributes: str
) -> bytes:
    """A point of a histogram: `counts` of the values up to each of the bounds, and of those above the last."""
    if is_packed:
        body = message(6, struct.pack(f"<{len(counts)}Q", *counts)) + message(
            7, struct.pack(f"<{len(bounds)}d", *bounds)
        )
    else:
        body = b"".join(varint(6 << 3 | 1) + struct.pack("<Q", count) for count in counts)
        body += b"".join(double_field(7, bound) for bound in bounds)
    named = [message(1, key.encode()) + message(2, message(1, text.encode())) for key, text in attributes.items()]
    of_all = varint(4 << 3 | 1) + struct.pack("<Q", sum(counts) % (1 << 64)) + double_field(5, total)
    return b"".join(message(9, each) for each in named) + of_all + body


def metrics_data(*metrics: bytes) -> bytes:
    """Of one resource and one scope."""
    return message(1, message(2, b"".join(message(2, each) for each in metrics)))
