# compiled: mypyc, as compaction runs it for each record
"""A map from keys to the highest offset of each key, in bounded memory however long the keys are.

An entry takes 24 bytes, as in Kafka: two hashes of the key, together 124 bits, and the offset. The key is not stored:
two keys whose hashes are both the same would count as one, as in Kafka. One hash is Python's own, the other has a seed
that is new for every map, so that a client cannot choose keys that collide.

Theory of operation: open addressing with double hashing in one array of a prime number of places. No entry is ever
removed. No more places are taken than the log has offsets for.
"""

from __future__ import annotations

import secrets
from array import array
from typing import Final

from xxhash import xxh3_64_intdigest

ENTRY_BYTES: Final = 24
NOT_FOUND: Final = -1
_COLUMNS: Final = 3  # hash, other hash, offset + 1 (0: free)


class OffsetMap:
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
        self._places = _prime_from(max(min(self.slots, keys_max + keys_max // 2), least, 3))
        self._table = array("q", [0]) * (_COLUMNS * self._places)
        self._seed = secrets.randbits(64)

    @property
    def is_full(self) -> bool:
        """Whether no further key can be put."""
        return self.entries >= self.entries_max

    @property
    def size_bytes(self) -> int:
        """The memory that the map takes, independent of its content."""
        return _COLUMNS * self._places * self._table.itemsize

    @property
    def fullness(self) -> float:
        """The number of keys divided by the number of slots, as Kafka reports it: at most the load factor."""
        return self.entries / self.slots

    def put(self, key: bytes, offset: int) -> None:
        """Record that the key was seen at `offset`; offsets increase."""
        first, second = hash(key) >> 2, xxh3_64_intdigest(key, self._seed) >> 2
        at = self._find(first, second)
        table = self._table
        if not table[at + 2]:
            table[at] = first
            table[at + 1] = second
            self.entries += 1
        table[at + 2] = offset + 1

    def get(self, key: bytes) -> int:
        """Return the highest offset of the key, NOT_FOUND if there is none."""
        at = self._find(hash(key) >> 2, xxh3_64_intdigest(key, self._seed) >> 2)
        return self._table[at + 2] - 1

    def _find(self, first: int, second: int) -> int:
        """Return the position of a key's entry, or the free position where it would be put."""
        table, places = self._table, self._places
        place = first % places
        at = _COLUMNS * place
        if (table[at] == first and table[at + 1] == second) or not table[at + 2]:
            return at
        stride = 1 + second % (places - 1)
        while True:
            place += stride
            if place >= places:
                place -= places
            at = _COLUMNS * place
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
