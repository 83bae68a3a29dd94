"""Pushed metrics: the last value of each metric of each client instance with each set of attributes, bounded.

A delta is added to the current value, any other value replaces it. A number is one series, as in Prometheus; a
histogram is one for each bucket, and two more. Values beyond the limits are counted and not stored; a removed client
frees space.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.broker.clients.telemetry.points import Histogram, Point, Value

SERIES_MAX = 10_000
"""The maximum number of series of all clients together."""
SERIES_OF_CLIENT_MAX = 2_000
"""The maximum number of series of one client instance."""
TEXT_MAX = 8 << 20
"""The maximum number of characters of the names and attributes of all values together."""
TEXT_OF_SERIES_MAX = 2_000
"""The maximum number of characters of the name and attributes of one value."""

Key = tuple[str, tuple[tuple[str, str], ...]]


class TelemetryClient(NamedTuple):
    """The client instance that pushed series."""

    instance_id: str
    client_id: str


class _Kept:
    """The values of one client."""

    __slots__ = ("count", "values")

    def __init__(self) -> None:
        self.values: dict[Key, Value] = {}
        self.count = 0
        """The number of their series."""


class PushedSeries:
    """The series of all clients."""

    def __init__(self) -> None:
        self._by_client: dict[TelemetryClient, _Kept] = {}
        self._count = 0
        self._text = 0
        self.left_out = 0
        """The number of points that were not stored or not understood in this run."""

    def __len__(self) -> int:
        return self._count

    def add(self, client: TelemetryClient, point: Point) -> None:
        """Store the value of a point, if the limits allow its series."""
        held = self._by_client.setdefault(client, _Kept())
        key = (point.name, point.attributes)
        before = held.values.get(key)
        value = point.value if before is None or not point.is_delta else _sum(before, point.value)
        text = _size(key) if before is None else 0
        series = _series(value) - (0 if before is None else _series(before))
        if not self._has_room(held, series, text):
            self.left_out += 1
            return
        held.values[key] = value
        held.count += series
        self._count += series
        self._text += text

    def _has_room(self, held: _Kept, series: int, text: int) -> bool:
        return series <= 0 or (
            self._count + series <= SERIES_MAX
            and held.count + series <= SERIES_OF_CLIENT_MAX
            and text <= TEXT_OF_SERIES_MAX
            and self._text + text <= TEXT_MAX
        )

    def forget(self, client: TelemetryClient) -> None:
        """Remove a client that is gone, with its series."""
        held = self._by_client.pop(client, None)
        if held is not None:
            self._count -= held.count
            self._text -= sum(map(_size, held.values))

    def clients(self) -> list[TelemetryClient]:
        """Return the clients that have series."""
        return list(self._by_client)

    def of(self, client: TelemetryClient) -> Iterator[tuple[str, dict[str, str], Value]]:
        """Return an iterator of the client's (name, attributes, value), as they are at the time of the call."""
        held = self._by_client.get(client)
        found = [] if held is None else list(held.values.items())
        return ((name, dict(attributes), value) for (name, attributes), value in found)


def _sum(before: Value, more: Value) -> Value:
    """Return the value with a delta added; a delta of another type replaces the value."""
    if isinstance(before, Histogram):
        return before.plus(more) if isinstance(more, Histogram) else more
    return more if isinstance(more, Histogram) else before + more


def _series(value: Value) -> int:
    return len(value.counts) + 2 if isinstance(value, Histogram) else 1


def _size(key: Key) -> int:
    name, attributes = key
    return len(name) + sum(len(label) + len(value) for label, value in attributes)
