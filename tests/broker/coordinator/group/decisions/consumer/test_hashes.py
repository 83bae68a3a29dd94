"""XXH3 and the hashes made with it, against values from hash4j, which Kafka uses."""

import subprocess
import sys

import pytest

from barnabas.broker.coordinator.group.decisions.consumer.subscriptions import metadata_hash, xxh3
from tests.support.processes.server import ROOT
from tests.support.worlds.memory_topics import MemoryTopics


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (0, 3244421341483603138),
        (1, 1433843135270481901),
        (3, -6266602912829716452),
        (4, 7895465118229274323),
        (8, 6941064856527638883),
        (9, -72226354546400344),
        (16, -5131753158909839995),
        (17, 8163341949877205007),
        (128, 7440608504995537343),
        (129, -4150982730466284604),
        (240, 7229805477010515663),
        (241, -8364630114420064745),
        (1024, -7241394453710343503),
        (1025, -9192937061388044938),
        (5000, 8762507191635236893),
    ],
)
def test_xxh3_is_hash4js(size: int, expected: int) -> None:
    assert xxh3(bytes((number * 7 + 3) & 255 for number in range(size))) == expected


def test_a_group_without_topics_has_the_hash_0() -> None:
    assert metadata_hash(["missing"], MemoryTopics()) == 0


def test_the_hash_depends_on_partitions_and_not_on_the_order_of_names() -> None:
    topics = MemoryTopics()
    topics.make("t", 1)
    topics.make("u", 2)
    before = metadata_hash(["t", "u"], topics)
    assert metadata_hash(["u", "t", "missing"], topics) == before
    topics.make("t", 2)
    assert metadata_hash(["t", "u"], topics) != before


def test_the_library_is_not_loaded_before_a_group_needs_it() -> None:
    program = """
import sys
before = set(sys.modules)
import barnabas.broker.server.broker
from barnabas.broker.coordinator.group.decisions.consumer.subscriptions import xxh3
assert "xxhash" not in set(sys.modules) - before
xxh3(b"")
assert "xxhash" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)
