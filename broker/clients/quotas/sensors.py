"""What each of many uses, bounded: who used nothing for an hour is forgotten, as in Kafka; of too many, the quietest.

Pure: the caller says what time it is. Client ids are free to choose, so their number is the clients' doing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Final, Generic, TypeVar

EXPIRES_AFTER_MS: Final = 3_600_000
SENSORS_MAX: Final = 10_000

Key = TypeVar("Key", bound=Hashable)
Sensor = TypeVar("Sensor")


class Sensors(Generic[Key, Sensor]):
    """What is kept of each, by whom it is of."""

    __slots__ = ("_make", "_most", "_sensors", "_used_ms")

    def __init__(self, make: Callable[[], Sensor], most: int = SENSORS_MAX) -> None:
        self._make = make
        self._most = most
        self._sensors: dict[Key, Sensor] = {}  # who used something last is last
        self._used_ms: dict[Key, int] = {}

    def __len__(self) -> int:
        return len(self._sensors)

    def get(self, key: Key, now_ms: int) -> Sensor:
        """That of `key`, which uses something now."""
        sensor = self._sensors.pop(key, None)
        if sensor is None:
            self._forget(now_ms, room_for=1)
            sensor = self._make()
        self._sensors[key] = sensor
        self._used_ms[key] = now_ms
        return sensor

    def items(self, now_ms: int) -> Iterator[tuple[Key, Sensor]]:
        """All that are kept."""
        self._forget(now_ms)
        return iter(list(self._sensors.items()))

    def clear(self) -> None:
        """Forget all of them."""
        self._sensors.clear()
        self._used_ms.clear()

    def _forget(self, now_ms: int, room_for: int = 0) -> None:
        while self._sensors:
            quietest = next(iter(self._sensors))
            is_old = now_ms - self._used_ms[quietest] > EXPIRES_AFTER_MS
            if not is_old and len(self._sensors) + room_for <= self._most:
                return
            del self._sensors[quietest], self._used_ms[quietest]
