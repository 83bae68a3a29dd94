# compiled: mypyc, as producers hash the key of each record
"""The choice of a record's partition, exactly as in Kafka's Java client, so that keys get the same partitions.

A key is hashed with Murmur2 (32 bits, Kafka's seed); the sign bit is cleared, then taken modulo the number of
partitions. Records without a key go to one partition for a while and then to the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mypy_extensions import i64  # 64 bits hold every product below: the compiled form needs no larger numbers

_SEED: Final = 0x9747B28C
_M: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Return Kafka's hash of a key, as an unsigned 32-bit number."""
    length = len(data)
    h: i64 = (_SEED ^ length) & _MASK
    whole = length & ~3
    for position in range(0, whole, 4):
        k: i64 = int.from_bytes(data[position : position + 4], "little")
        k = k * _M & _MASK
        k = (k ^ k >> 24) * _M & _MASK
        h = (h * _M & _MASK) ^ k
    if whole < length:
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


def partition_for_key(key: bytes, partitions: int) -> int:
    """Return the partition of a record with this key, in a topic with so many partitions."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions


class KeylessPartitioner:
    """Distributes records without a key: all to one partition until `switch` is called for the topic."""

    def __init__(self) -> None:
        self._next: dict[str, int] = {}

    def partition(self, topic: str, partitions: int) -> int:
        """Return the current partition for records without a key."""
        return self._next.get(topic, 0) % partitions

    def switch(self, topic: str) -> None:
        """Move to the next partition: the batch is full."""
        self._next[topic] = self._next.get(topic, 0) + 1
