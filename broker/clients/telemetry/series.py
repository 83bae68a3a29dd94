"""What clients pushed: the last value of each metric of each client instance with each set of attributes, bounded.

A delta is added to what there is, any other value takes its place. A number is one series, as Prometheus counts; a
histogram one for each bucket, and two. What finds no room is counted and not kept; a client that is gone makes room.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.broker.clients.telemetry.points import Histogram, Point, Value

SERIES_MAX = 10_000
"""How many series are kept of all clients together."""
SERIES_OF_CLIENT_MAX = 2_000
"""How many of one client instance."""
TEXT_MAX = 8 << 20
"""How many characters the names and attributes of all values have together."""
TEXT_OF_SERIES_MAX = 2_000
"""How many those of one."""

Key = tuple[str, tuple[tuple[str, str], ...]]


class Client(NamedTuple):
    """Whose series these are."""

    instance_id: str
    client_id: str


class _Kept:
    """The values of one client."""

    __slots__ = ("count", "values")

    def __init__(self) -> None:
        self.values: dict[Key, Value] = {}
        self.count = 0
        """How many series they are."""


class PushedSeries:
    """The series of all clients."""

    def __init__(self) -> None:
        self._by_client: dict[Client, _Kept] = {}
        self._count = 0
        self._text = 0
        self.left_out = 0
        """How many points were not kept in this run, or not understood."""

    def __len__(self) -> int:
        return self._count

    def add(self, client: Client, point: Point) -> None:
        """Keep the value of a point, if there is room for its series."""
        kept = self._by_client.setdefault(client, _Kept())
        key = (point.name, point.attributes)
        before = kept.values.get(key)
        value = point.value if before is None or not point.is_delta else _sum(before, point.value)
        text = _size(key) if before is None else 0
        series = _series(value) - (0 if before is None else _series(before))
        if not self._has_room(kept, series, text):
            self.left_out += 1
            return
        kept.values[key] = value
        kept.count += series
        self._count += series
        self._text += text

    def _has_room(self, kept: _Kept, series: int, text: int) -> bool:
        return series <= 0 or (
            self._count + series <= SERIES_MAX
            and kept.count + series <= SERIES_OF_CLIENT_MAX
            and text <= TEXT_OF_SERIES_MAX
            and self._text + text <= TEXT_MAX
        )

    def forget(self, client: Client) -> None:
        """The client is gone, and its series with it."""
        kept = self._by_client.pop(client, None)
        if kept is not None:
            self._count -= kept.count
            self._text -= sum(map(_size, kept.values))

    def clients(self) -> list[Client]:
        """Those that have series."""
        return list(self._by_client)

    def of(self, client: Client) -> Iterator[tuple[str, dict[str, str], Value]]:
        """(name, attributes, value) of all that is kept of a client, as it is when this is called."""
        kept = self._by_client.get(client)
        found = [] if kept is None else list(kept.values.items())
        return ((name, dict(attributes), value) for (name, attributes), value in found)


def _sum(before: Value, more: Value) -> Value:
    """A delta added to what there is; to what is of another kind nothing can be added."""
    if isinstance(before, Histogram):
        return before.plus(more) if isinstance(more, Histogram) else more
    return more if isinstance(more, Histogram) else before + more


def _series(value: Value) -> int:
    return len(value.counts) + 2 if isinstance(value, Histogram) else 1


def _size(key: Key) -> int:
    name, attributes = key
    return len(name) + sum(len(label) + len(value) for label, value in attributes)
