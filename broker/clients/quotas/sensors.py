"""The usage of many clients, bounded: removed after an hour without usage, as in Kafka; the longest idle if too many.

Pure: the caller passes the time. Clients choose their client ids freely, so the number of sensors depends on them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Final, Generic, TypeVar

EXPIRES_AFTER_MS: Final = 3_600_000
SENSORS_MAX: Final = 10_000

Key = TypeVar("Key", bound=Hashable)
Sensor = TypeVar("Sensor")


class Sensors(Generic[Key, Sensor]):
    """The sensors by key."""

    __slots__ = ("_make", "_most", "_sensors", "_used_ms")

    def __init__(self, make: Callable[[], Sensor], most: int = SENSORS_MAX) -> None:
        self._make = make
        self._most = most
        self._sensors: dict[Key, Sensor] = {}  # ordered by last usage, the latest last
        self._used_ms: dict[Key, int] = {}

    def __len__(self) -> int:
        return len(self._sensors)

    def get(self, key: Key, now_ms: int) -> Sensor:
        """Return the sensor of `key`, which is used now; create it if necessary."""
        sensor = self._sensors.pop(key, None)
        if sensor is None:
            self._forget(now_ms, room_for=1)
            sensor = self._make()
        self._sensors[key] = sensor
        self._used_ms[key] = now_ms
        return sensor

    def items(self, now_ms: int) -> Iterator[tuple[Key, Sensor]]:
        """Return all sensors with their keys."""
        self._forget(now_ms)
        return iter(list(self._sensors.items()))

    def clear(self) -> None:
        """Remove all sensors."""
        self._sensors.clear()
        self._used_ms.clear()

    def _forget(self, now_ms: int, room_for: int = 0) -> None:
        while self._sensors:
            quietest = next(iter(self._sensors))
            is_old = now_ms - self._used_ms[quietest] > EXPIRES_AFTER_MS
            if not is_old and len(self._sensors) + room_for <= self._most:
                return
            del self._sensors[quietest], self._used_ms[quietest]
