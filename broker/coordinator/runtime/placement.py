"""Which partition of a coordinator's topic a group or a transactional id lives in.

Java's `String.hashCode` over UTF-16 code units, then `abs(hash) % partitions`, where the absolute value of the smallest
int is 0. Kafka's own tools and a Kafka that takes over the directory look for a key in exactly this place.
"""

from __future__ import annotations

from functools import lru_cache

from barnabas.protocol.errors import ErrorCode, KafkaError

KEY_BYTES_MAX = 2**15 - 1
"""How long a group's or a transactional id may be: what the key of a record can carry."""
_INT32_MIN = -(2**31)


def java_hash(text: str) -> int:
    """`String.hashCode()`: sum of unit[i] * 31^(n-1-i) over the UTF-16 units, as a signed 32-bit integer."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for position in range(0, len(units), 2):
        value = (value * 31 + (units[position] << 8 | units[position + 1])) & 0xFFFFFFFF
    return value - 2**32 if value & 0x80000000 else value


@lru_cache(maxsize=4096)
def partition_for(key: str, num_partitions: int) -> int:
    """The partition that keeps the records of this group or transactional id."""
    value = java_hash(key)
    return (0 if value == _INT32_MIN else abs(value)) % num_partitions


def fits_a_key(entity_id: str) -> bool:
    """Whether a record can carry the id of this group or transactional id. Short ones are not encoded to be counted."""
    return len(entity_id) <= KEY_BYTES_MAX // 4 or len(entity_id.encode()) <= KEY_BYTES_MAX


def check_transactional_id(transactional_id: str) -> None:
    """INVALID_REQUEST for one that no record can carry, or that is empty."""
    if not transactional_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "the transactional id is empty")
    if not fits_a_key(transactional_id):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"the transactional id is longer than {KEY_BYTES_MAX} bytes")
