# compiled: mypyc
"""The partition of a coordinator's topic for a group or a transactional id.

Java's `String.hashCode` over UTF-16 code units, then `abs(hash) % partitions`, where the absolute value of the smallest
int is 0. Kafka's own tools and a Kafka that takes over the directory look for a key in exactly this place.
"""

from __future__ import annotations

from functools import lru_cache

from barnabas.protocol.errors import ErrorCode, KafkaError

KEY_BYTES_MAX = 2**15 - 1
"""The maximum length of a group's or a transactional id: the key of a record has room for so many bytes."""
_INT32_MIN = -(2**31)
_REMEMBERED_LENGTH_MAX = 100
"""Of a text whose hash is remembered: clients choose ids, and 4,096 of the longest would be 128 MB."""


def java_hash(text: str) -> int:
    """Return `String.hashCode()`: sum of unit[i] * 31^(n-1-i) over the UTF-16 units, as a signed 32-bit integer."""
    return _remembered_hash(text) if len(text) <= _REMEMBERED_LENGTH_MAX else _hash(text)


@lru_cache(maxsize=4096)
def _remembered_hash(text: str) -> int:
    return _hash(text)


def _hash(text: str) -> int:
    units = utf16(text)
    value = 0
    for position in range(0, len(units), 2):
        value = (value * 31 + (units[position] << 8 | units[position + 1])) & 0xFFFFFFFF
    return value - 2**32 if value & 0x80000000 else value


def utf16(text: str) -> bytes:
    """Return the UTF-16 units of a Java string, which `String.compareTo` compares: not its code points."""
    return text.encode("utf-16-be", "surrogatepass")


def partition_for(key: str, num_partitions: int) -> int:
    """Return the partition with the records of this group or transactional id."""
    value = java_hash(key)
    return (0 if value == _INT32_MIN else abs(value)) % num_partitions


def fits_a_key(entity_id: str) -> bool:
    """Return whether a record has room for the id of this group or transactional id; short ones are not encoded."""
    return len(entity_id) <= KEY_BYTES_MAX // 4 or len(entity_id.encode()) <= KEY_BYTES_MAX


def check_transactional_id(transactional_id: str) -> None:
    """Raise INVALID_REQUEST for an id that is empty, or too long for a record."""
    if not transactional_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "the transactional id is empty")
    if not fits_a_key(transactional_id):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"the transactional id is longer than {KEY_BYTES_MAX} bytes")
