# compiled: mypyc, as compaction runs it for each record
"""A map from keys to the highest offset of each key, in bounded memory however long the keys are.

An entry takes 24 bytes, as in Kafka: two hashes of the key, together 124 bits, and the offset. The key is not stored:
two keys whose hashes are both the same would count as one, as in Kafka. One hash is Python's own, the other has a seed
that is new for every map, so that a client cannot choose keys that collide.

Theory of operation: open addressing with double hashing in one array of a prime number of places. No entry is ever
removed. The array begins small and grows by four, to the memory and no further than the log has offsets for: a lookup
mostly waits for memory, and a small array stays in the processor's cache. While it grows, the one before is there, too,
of a quarter of the size.

`vector_offset_map.py` has the compiled form's map, which stores short keys whole.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from array import array
from collections.abc import Generator
from typing import Final

from xxhash import xxh3_64_intdigest

ENTRY_BYTES: Final = 24
NOT_FOUND: Final = -1
COLUMNS: Final = 3  # hash, other hash, offset + 1 (0: free)
PLACES_AT_ONCE: Final = 128  # that are moved between two pauses
_PLACES_FIRST: Final = 1 << 12  # at most


class OffsetMap(ABC):
    """A bounded map: `is_full` when it holds as many keys as `memory_bytes` and the load factor allow; check before
    `put`.

    `keys_max` is the largest number of keys that can be put, however much memory there is.
    """

    def __init__(self, memory_bytes: int, load_factor: float, keys_max: int) -> None:
        self.slots = memory_bytes // ENTRY_BYTES
        self.entries_max = int(self.slots * load_factor)
        if self.entries_max < 1:
            raise ValueError(f"a map of {memory_bytes} bytes has no room for a single key")
        self.entries = 0
        least = min(self.entries_max, keys_max) + 1  # one place is always free, so every search ends
        self._places_max = _prime_from(max(min(self.slots, keys_max + keys_max // 2), least, 3))
        self._growths = 0  # still to come
        while self._places_max >> 2 * self._growths > _PLACES_FIRST:
            self._growths += 1
        self._places = self._places_after(self._growths)
        self._seed = secrets.randbits(64)

    @property
    def is_full(self) -> bool:
        """Whether no further key can be put."""
        return self.entries >= self.entries_max

    @property
    def size_bytes(self) -> int:
        """The memory that the map takes at present."""
        return ENTRY_BYTES * self._places

    @property
    def fullness(self) -> float:
        """The number of keys divided by the number of slots, as Kafka reports it: at most the load factor."""
        return self.entries / self.slots

    @abstractmethod
    def put(self, key: bytes, offset: int) -> int:
        """Record that the key was seen at `offset`; offsets increase. Return its offset before, NOT_FOUND if none."""

    @abstractmethod
    def get(self, key: bytes) -> int:
        """Return the highest offset of the key, NOT_FOUND if there is none."""

    @abstractmethod
    def growing(self) -> Generator[int, None, None]:
        """Move the entries to a larger array, with pauses; no other method may be called until it has ended."""

    def is_crowded(self, more: int) -> bool:
        """Return whether the array should grow before `more` keys are put: at three quarters, if it may."""
        return self._growths > 0 and 4 * (self.entries + more) > 3 * self._places

    def _places_after(self, growths: int) -> int:
        """Return the number of places while so many growths are still to come."""
        return _prime_from(self._places_max >> 2 * growths) if growths else self._places_max


class ArrayOffsetMap(OffsetMap):
    """A map in an array of Python's."""

    def __init__(self, memory_bytes: int, load_factor: float, keys_max: int) -> None:
        super().__init__(memory_bytes, load_factor, keys_max)
        self._table = array("q", [0]) * (COLUMNS * self._places)

    def put(self, key: bytes, offset: int) -> int:
        first, second = hash(key) >> 2, xxh3_64_intdigest(key, self._seed) >> 2
        table = self._table
        at = self._find(table, self._places, first, second)
        previous: int = table[at + 2]
        if not previous:
            if self.is_crowded(1):
                for _ in self.growing():
                    pass
                table = self._table
                at = self._find(table, self._places, first, second)
            table[at] = first
            table[at + 1] = second
            self.entries += 1
        table[at + 2] = offset + 1
        return previous - 1

    def get(self, key: bytes) -> int:
        table = self._table
        at = self._find(table, self._places, hash(key) >> 2, xxh3_64_intdigest(key, self._seed) >> 2)
        return table[at + 2] - 1

    def growing(self) -> Generator[int, None, None]:
        old, places = self._table, self._places_after(self._growths - 1)
        table = array("q", [0]) * (COLUMNS * places)
        for begin in range(0, len(old), COLUMNS * PLACES_AT_ONCE):
            for source in range(begin, min(begin + COLUMNS * PLACES_AT_ONCE, len(old)), COLUMNS):
                if old[source + 2]:
                    first, second = old[source], old[source + 1]
                    at = self._find(table, places, first, second)
                    table[at] = first
                    table[at + 1] = second
                    table[at + 2] = old[source + 2]
            yield 0
        self._table, self._places, self._growths = table, places, self._growths - 1

    def _find(self, table: array[int], places: int, first: int, second: int) -> int:
        """Return the position of a key's entry, or the free position where it would be put."""
        place = first % places
        at = COLUMNS * place
        if (table[at] == first and table[at + 1] == second) or not table[at + 2]:
            return at
        stride = 1 + second % (places - 1)
        while True:
            place += stride
            if place >= places:
                place -= places
            at = COLUMNS * place
            if (table[at] == first and table[at + 1] == second) or not table[at + 2]:
                return at


def _prime_from(number: int) -> int:
    """Return the smallest prime that is not smaller than `number`."""
    number |= 1
    while not _is_prime(number):
        number += 2
    return number


def _is_prime(number: int) -> bool:
    divisor = 3
    while divisor * divisor <= number:
        if number % divisor == 0:
            return False
        divisor += 2
    return True
