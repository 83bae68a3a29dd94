"""How much of a message is decoded: a few bytes of Avro can stand for more values than there is memory."""

from __future__ import annotations

import math

from barnabas.registry.decoding.errors import UndecodableValue

BYTES_MAX = 4 << 20
VALUES_MAX = 100_000
DEPTH_MAX = 64  # of values in values; every level costs frames of Python's stack
CHEAP_BYTES = 4_000
"""A message of so many bytes is decoded in some milliseconds, unless it is made to take long."""


class DecodingBounds:
    """The number of values that have been decoded of one message, and its limits."""

    __slots__ = ("_values",)

    def __init__(self, payload: bytes) -> None:
        if len(payload) > BYTES_MAX:
            raise UndecodableValue(f"the message has more than {BYTES_MAX:,} bytes")
        self._values = 0

    def count(self, depth: int) -> None:
        """Count a value at a depth. Raises UndecodableValue if it is too much."""
        self._values += 1
        if self._values > VALUES_MAX:
            raise UndecodableValue(f"the message has more than {VALUES_MAX:,} values")
        if depth > DEPTH_MAX:
            raise UndecodableValue(f"the message is nested deeper than {DEPTH_MAX} levels")


def finite(value: float) -> float | str:
    """Return a number that JSON can say; text for those that it cannot, as in Protobuf's JSON mapping."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
