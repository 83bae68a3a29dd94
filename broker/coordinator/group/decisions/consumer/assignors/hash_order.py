# compiled: mypyc
"""The iteration order of java.util.HashMap and HashSet, which Kafka's assignors depend on.

A table has a power of two of bins. A key goes into the bin given by the low bits of its hash; within a bin, `put` adds
it at the end and `computeIfAbsent` at the front, and a table that is doubled preserves the order within a bin. So the
order depends on the keys, on their order of insertion, and on the table's initial and later sizes. Bins that get long
double the table or become trees (tree_bin.py).

This is Java 19 and later, which Kafka's image runs. Java 17 differs in one place: see `JAVA_VERSION`.

Invariants: every key is in the bin of its hash; the number of bins never decreases.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import Any, Generic, NamedTuple, TypeVar

from barnabas.broker.coordinator.group.decisions.consumer.assignors.tree_bin import TreeBin
from barnabas.broker.coordinator.runtime.partition_for import java_hash, utf16

K = TypeVar("K")

DEFAULT_SIZE = 16
"""How many bins a table has by default."""
JAVA_VERSION = 19
"""The Java whose tables these are. Before 19, a copied set of 12, 24, 48 and so on keys has twice as many bins.

So Kafka's result can depend on the Java version it runs on, there and nowhere else. Tests beside a JVM set its own.
"""
_BIN_MAX = 8  # longer than that after a `put`, or as long after a `computeIfAbsent`, is too long
_TREE_TABLE_MIN = 64  # smaller tables are doubled for such a bin
_TREE_MIN = 7  # doubling a table leaves no smaller tree

_WORDS = struct.Struct(">4I")
_HALVES = struct.Struct(">2q")


class KeyType(NamedTuple, Generic[K]):
    """Java's hash and order of a class of keys."""

    hash: Callable[[K], int]
    """`hashCode`, with its upper half mixed into the lower as HashMap does; 32 bits, unsigned."""
    rank: Callable[[K], Any]
    """The order in a tree: by that hash as a signed number, then by `compareTo`."""


def _mixed(hash_code: int) -> int:
    value = hash_code & 0xFFFFFFFF
    return value ^ value >> 16


def _signed(value: int) -> int:
    return value - 2**32 if value & 0x80000000 else value


def id_rank(topic_id: bytes) -> tuple[int, int]:
    """Return the value that `Uuid.compareTo` compares: two signed halves."""
    most, least = _HALVES.unpack(topic_id)
    return most, least


def _string_hash(text: str) -> int:
    return _mixed(java_hash(text))


def _id_hash(topic_id: bytes) -> int:
    first, second, third, fourth = _WORDS.unpack(topic_id)
    return _mixed(first ^ second ^ third ^ fourth)


INTEGER: KeyType[int] = KeyType(_mixed, _mixed)  # of a partition, which is not negative
STRING: KeyType[str] = KeyType(_string_hash, lambda text: (_signed(_string_hash(text)), utf16(text)))
TOPIC_ID: KeyType[bytes] = KeyType(_id_hash, lambda topic_id: (_signed(_id_hash(topic_id)), id_rank(topic_id)))


def table_size(capacity: int) -> int:
    """Return how many bins `new HashMap(capacity)` has: the next power of two."""
    size = 1
    while size < capacity:
        size *= 2
    return size


def roomy_table_size(count: int) -> int:
    """Return the table size where Kafka itself reserves room for so many keys: a third more and one."""
    return table_size(count * 4 // 3 + 1)


def copied_table_size(count: int) -> int:
    """Return how many bins `new HashSet(collection)` has, by the size of the collection."""
    return table_size(_copied_capacity(count))


def _copied_capacity(count: int) -> int:
    third_more = -(-count * 4 // 3) if JAVA_VERSION >= 19 else count * 4 // 3 + 1
    return max(third_more, DEFAULT_SIZE)


class HashOrder(Generic[K]):
    """The keys of one table."""

    __slots__ = ("_bins", "_hashes", "_key_type", "_most", "_size")

    def __init__(self, key_type: KeyType[K], size: int = DEFAULT_SIZE, keys: Iterable[K] = ()) -> None:
        """Create a table of `size` bins, a power of two, and put `keys` into it."""
        self._key_type = key_type
        self._size = size
        self._most = size * 3 // 4  # limit of keys, before it is doubled
        self._hashes: dict[K, int] = {}
        self._bins: dict[int, list[K] | TreeBin[K]] = {}
        for key in keys:
            self.put(key)

    def __len__(self) -> int:
        return len(self._hashes)

    def __contains__(self, key: K) -> bool:
        return key in self._hashes

    def in_order(self) -> list[K]:
        """Return the keys, in the order of iteration."""
        bins = self._bins
        found: list[K] = []
        for index in sorted(bins):
            bin = bins[index]
            found += bin.keys if isinstance(bin, TreeBin) else bin
        return found

    def put(self, key: K) -> None:
        """Add a key as `put`, `putIfAbsent` or `add` does. An existing key keeps its place."""
        if key in self._hashes:
            return
        index = self._index_of_new(key)
        bin = self._bins.get(index)
        if bin is None:
            self._bins[index] = [key]
        elif isinstance(bin, TreeBin):
            bin.add(key)
        else:
            bin.append(key)
            if len(bin) > _BIN_MAX:
                self._relieve(index)
        if len(self._hashes) > self._most:
            self._double()

    def compute_if_absent(self, key: K) -> bool:
        """Add a key and return whether it is new. The table is doubled before that, even for an existing key."""
        if len(self._hashes) > self._most:
            self._double()
        if key in self._hashes:
            return False
        index = self._index_of_new(key)
        bin = self._bins.get(index)
        if bin is None:
            self._bins[index] = [key]
        elif isinstance(bin, TreeBin):
            bin.add(key)
        else:
            bin.insert(0, key)
            if len(bin) >= _BIN_MAX:
                self._relieve(index)
        return True

    def remove(self, key: K) -> None:
        """Remove a key, if it is in the table."""
        hash = self._hashes.pop(key, None)
        if hash is None:
            return
        index = hash & self._size - 1
        bin = self._bins[index]
        if isinstance(bin, TreeBin):
            if not bin.remove(key):
                self._bins[index] = bin.keys
        else:
            bin.remove(key)
        if not (bin.keys if isinstance(bin, TreeBin) else bin):
            del self._bins[index]

    def _index_of_new(self, key: K) -> int:
        hash = self._key_type.hash(key)
        self._hashes[key] = hash
        return hash & self._size - 1

    def _relieve(self, index: int) -> None:
        if self._size < _TREE_TABLE_MIN:
            self._double()
        else:
            bin = self._bins[index]
            assert isinstance(bin, list)
            self._bins[index] = TreeBin(bin, self._key_type.rank)

    def _double(self) -> None:
        before, self._bins = self._bins, {}
        bit = self._size
        self._size *= 2
        self._most = self._size * 3 // 4
        hashes = self._hashes
        for index, bin in before.items():
            if isinstance(bin, list) and len(bin) == 1:  # as most have
                self._bins[index + (hashes[bin[0]] & bit)] = bin
                continue
            keys = bin.keys if isinstance(bin, TreeBin) else bin
            low = [key for key in keys if not hashes[key] & bit]
            high = [key for key in keys if hashes[key] & bit] if len(low) < len(keys) else []
            for place, part in ((index, low), (index + bit, high)):
                if part:
                    self._bins[place] = self._divided(bin, part)

    def _divided(self, bin: list[K] | TreeBin[K], part: list[K]) -> list[K] | TreeBin[K]:
        if isinstance(bin, TreeBin) and len(part) >= _TREE_MIN:
            return bin if len(part) == len(bin.keys) else TreeBin(part, self._key_type.rank)
        return part
