"""Our server-side assignors give every group what Apache Kafka's do, round after round, down to the order of records.

The classes of Kafka 4.4.0's assignors are those of 4.3.1, byte for byte.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.coordinator.group.decisions.consumer.assignors import hash_order
from barnabas.broker.coordinator.group.decisions.consumer.assignors.hash_order import (
    INTEGER,
    STRING,
    TOPIC_ID,
    HashOrder,
    KeyType,
)
from barnabas.broker.coordinator.group.decisions.consumer.assignors.input_order import timeline_order
from barnabas.protocol.primitives import uuid_text
from barnabas.storage.steps import finish
from tests.support.kafka.assignors import KafkasAssignors
from tests.support.stories.assignor import Story
from tests.support.worlds.assigned_group import AssignedGroup, Subscriber
from tests.support.worlds.group_lives import life

STORIES = sorted((Path(__file__).parents[1] / "golden" / "assignors").glob("*.txt"))
_SEEDS = st.integers(0, 2**32 - 1)
_TABLES: tuple[tuple[str, KeyType[Any]], ...] = (("integer", INTEGER), ("string", STRING), ("topic id", TOPIC_ID))


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkasAssignors]:
    with KafkasAssignors() as kafka, pytest.MonkeyPatch.context() as patch:
        patch.setattr(hash_order, "JAVA_VERSION", kafka.java_version)
        yield kafka


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_kafka_tells_our_stories(kafka: KafkasAssignors, path: Path) -> None:
    assert Story(lambda group, assignor: kafka.assign(group, assignor)).run(path.read_text()) == path.read_text()


@given(_SEEDS)
def test_groups_of_any_size_get_what_kafka_gives_them(kafka: KafkasAssignors, seed: int) -> None:
    _live_alike(kafka, life(seed))


@given(_SEEDS)
def test_small_groups_get_what_kafka_gives_them(kafka: KafkasAssignors, seed: int) -> None:
    _live_alike(kafka, life(seed, members_max=6, topics_max=4, partitions_max=8))


@given(_SEEDS)
def test_members_with_many_partitions_get_what_kafka_gives_them(kafka: KafkasAssignors, seed: int) -> None:
    _live_alike(kafka, life(seed, members_max=8, topics_max=2, partitions_max=600))


def _live_alike(kafka: KafkasAssignors, rounds: Iterator[tuple[AssignedGroup, str]]) -> None:
    for group, assignor in rounds:
        ours = group.assign(assignor)
        assert ours == kafka.assign(group, assignor)
        group.take(ours)


def test_members_that_took_turns_give_up_what_they_do_in_kafka(kafka: KafkasAssignors) -> None:
    """64 members and one more with another topic take turns at 1,024 partitions: their sets are trees in Java."""
    group = AssignedGroup()
    group.create_topic("wide", 1_024)
    group.create_topic("other", 1)
    group.members = {f"m{number}": Subscriber(("wide",)) for number in range(64)}
    group.members["another"] = Subscriber(("other",))
    group.take(group.assign("uniform"))
    group.leave("another")
    for number in range(64, 100):
        group.members[f"m{number}"] = Subscriber(("wide",))
        ours = group.assign("uniform")
        assert ours == kafka.assign(group, "uniform")
        group.take(ours)


@given(_SEEDS)
def test_the_coordinator_has_members_in_kafkas_order(kafka: KafkasAssignors, seed: int) -> None:
    rng = Random(seed)
    member_ids = list(dict.fromkeys(f"consumer-{rng.randrange(1_000)}" for _ in range(rng.choice((3, 20, 60)))))
    largest = len(member_ids) + rng.choice((0, 0, 1, 50))
    assert finish(timeline_order(member_ids, largest)) == kafka.timeline(member_ids, largest)


@given(_SEEDS)
def test_tables_are_iterated_as_java_does(kafka: KafkasAssignors, seed: int) -> None:
    rng = Random(seed)
    name, key_type = rng.choice(_TABLES)
    keys = _keys(rng, name)
    capacity = rng.choice((0, 1, 2, 3, 16, 17, 64))
    ways = rng.choice((("put",), ("absent",), ("put", "absent"), ("put", "put", "remove"), ("absent", "remove")))
    steps = [(rng.choice(ways), rng.choice(keys)) for _ in range(rng.choice((5, 20, 100)))]
    order: HashOrder[Any] = HashOrder(key_type, hash_order.table_size(capacity))
    for way, key in steps:
        {"put": order.put, "absent": order.compute_if_absent, "remove": order.remove}[way](key)
    iterated = order.in_order()
    copied = HashOrder(key_type, hash_order.copied_table_size(len(iterated)), iterated).in_order()
    told = uuid_text if name == "topic id" else lambda key: key
    answer = kafka.iterate(name, capacity, [(way, told(key)) for way, key in steps])
    assert [[told(key) for key in iterated], [told(key) for key in copied]] == answer


def _keys(rng: Random, name: str) -> list[Any]:
    """Keys that share bins more often than not: long bins become trees."""
    count = rng.choice((8, 30, 80))
    match name:
        case "integer":
            stride = rng.choice((1, 3, 16, 64, 128, 1_024, 65_536, 65_537))
            return [rng.randrange(count) * stride for _ in range(count)]
        case "string":  # "Aa" and "BB" have the same hash
            return [
                "".join(rng.choices(("Aa", "BB"), k=7)) + rng.choice(("", "\uff21", "\U0001f600")) for _ in range(count)
            ]
        case _:
            words = [rng.choice((0, 1, 64, 128, 2**31)).to_bytes(4, "big") for _ in range(8)]
            return [b"".join(rng.choices(words, k=4)) for _ in range(count)]
