"""Where a group lives: Java's hash, and the partition it gives."""

import pytest

from barnabas.broker.coordinator.runtime import partition_for as partitions
from barnabas.broker.coordinator.runtime.partition_for import java_hash, partition_for


@pytest.mark.parametrize(
    ("text", "expected_hash", "expected_partition"),
    [
        ("tx", 3716, 16),
        ("my-group", -1906497762, 12),
        ("polygenelubricants", -(2**31), 0),
        ("é😀", 1996812, 12),
        ("", 0, 0),
    ],
)
def test_a_key_has_javas_hash_and_kafkas_partition(text: str, expected_hash: int, expected_partition: int) -> None:
    assert java_hash(text) == expected_hash
    assert partition_for(text, 50) == expected_partition


def test_the_partition_depends_on_how_many_there_are() -> None:
    assert partition_for("my-group", 7) == 1906497762 % 7


def test_the_hash_of_a_long_key_is_not_remembered() -> None:
    asked = partitions._remembered_hash.cache_info
    before = asked().misses
    java_hash("a short key that no other test has")
    assert asked().misses == before + 1
    assert java_hash("a" * 1_000) == 904019584
    assert asked().misses == before + 1
