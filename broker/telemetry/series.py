"""What clients pushed, by series: the last value of each, bounded in number and in bytes.

A series is one metric of one client instance with one set of attributes. A delta is added to what there is, any other
value takes its place. A series that finds no room is counted and not kept; those of a client that is gone make room.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.broker.telemetry.otlp import Point

SERIES_MAX = 10_000
"""How many series are kept of all clients together."""
SERIES_OF_CLIENT_MAX = 2_000
"""How many of one client instance."""
TEXT_MAX = 8 << 20
"""How many characters the names and attributes of all series have together."""
TEXT_OF_SERIES_MAX = 2_000
"""How many those of one."""

Key = tuple[str, tuple[tuple[str, str], ...]]


class Client(NamedTuple):
    """Whose series these are."""

    instance_id: str
    client_id: str


class PushedSeries:
    """The series of all clients."""

    def __init__(self) -> None:
        self._by_client: dict[Client, dict[Key, float]] = {}
        self._count = 0
        self._text = 0
        self.left_out = 0
        """How many points were not kept in this run, or not understood."""

    def __len__(self) -> int:
        return self._count

    def add(self, client: Client, point: Point) -> None:
        """Keep the value of a point, if there is room for its series."""
        series = self._by_client.setdefault(client, {})
        key = (point.name, point.attributes)
        if key in series:
            series[key] = series[key] + point.value if point.is_delta else point.value
        elif self._has_room(series, size := _size(key)):
            series[key] = point.value
            self._count += 1
            self._text += size
        else:
            self.left_out += 1

    def _has_room(self, series: dict[Key, float], size: int) -> bool:
        return (
            self._count < SERIES_MAX
            and len(series) < SERIES_OF_CLIENT_MAX
            and size <= TEXT_OF_SERIES_MAX
            and self._text + size <= TEXT_MAX
        )

    def forget(self, client: Client) -> None:
        """The client is gone, and its series with it."""
        series = self._by_client.pop(client, {})
        self._count -= len(series)
        self._text -= sum(map(_size, series))

    def clients(self) -> list[Client]:
        """Those that have series."""
        return list(self._by_client)

    def of(self, client: Client) -> Iterator[tuple[str, dict[str, str], float]]:
        """(name, attributes, value) of each series of a client, as they are when this is called."""
        found = list(self._by_client.get(client, {}).items())
        return ((name, dict(attributes), value) for (name, attributes), value in found)


def _size(key: Key) -> int:
    name, attributes = key
    return len(name) + sum(len(label) + len(value) for label, value in attributes)
