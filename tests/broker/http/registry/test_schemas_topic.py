"""The topic _schemas of a broker: created at the first record, read in slices, appended to by others, deleted."""

import pytest

from barnabas.broker.http.registry.schemas_topic import RECORDS_A_TURN, TOPIC, SchemasTopic
from barnabas.broker.metadata.catalogue.config_alterations import Alteration
from barnabas.broker.metadata.image.topic_changes import NewPartitions
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.registry.registry_log import SchemasLogFailure
from tests.support.worlds.broker import BrokerWorld


class Reader:
    """A `SchemasReader` that notes what it is given."""

    def __init__(self) -> None:
        self.found: list[tuple[bytes | None, bytes | None]] = []

    def replay(self, key: bytes | None, value: bytes | None, timestamp_ms: int) -> None:
        self.found.append((key, value))

    def forget(self) -> None:
        self.found.clear()


@pytest.fixture
async def world() -> BrokerWorld:
    return BrokerWorld()


@pytest.fixture
def reader() -> Reader:
    return Reader()


def append(world: BrokerWorld, *pairs: tuple[bytes, bytes | None]) -> None:
    records = [NewRecord(key, value, (), 1_000) for key, value in pairs]
    world.broker.services.partitions.append(TOPIC, 0, build_batch(records))


async def test_the_topic_is_created_compacted_with_the_first_record(world: BrokerWorld, reader: Reader) -> None:
    topic = SchemasTopic(world.broker.services)
    assert topic.is_applied
    assert TOPIC not in world.broker.catalogue.topics
    topic.append([(b"k", b"v"), (b"l", None)])
    created = world.broker.catalogue.topics[TOPIC]
    assert (len(created.partitions), created.configs) == (1, {"cleanup.policy": "compact"})
    assert topic.is_applied
    await topic.durable()
    other = SchemasTopic(world.broker.services)
    await other.apply(reader)
    assert reader.found == [(b"k", b"v"), (b"l", None)]


async def test_records_of_other_producers_are_applied_once_and_in_slices(world: BrokerWorld, reader: Reader) -> None:
    topic = SchemasTopic(world.broker.services)
    topic.append([(b"own", b"")])
    pairs = [(b"%d" % number, b"v") for number in range(3 * RECORDS_A_TURN)]
    append(world, *pairs[:-1])
    append(world, pairs[-1])
    assert not topic.is_applied
    turns = 0

    def count() -> None:
        nonlocal turns
        turns += 1
        world.broker.services.upkeep.loop.call_soon(count)

    count()
    await topic.apply(reader)
    assert reader.found == pairs
    assert turns > 3
    topic.append([(b"own", b"2")])
    assert topic.is_applied


async def test_a_deleted_topic_is_forgotten_and_created_again(world: BrokerWorld, reader: Reader) -> None:
    topic = SchemasTopic(world.broker.services)
    topic.append([(b"k", b"v")])
    world.broker.catalogue.delete_topics([TOPIC])
    reader.found.append((b"k", b"v"))
    await topic.apply(reader)
    assert reader.found == []
    topic.append([(b"l", b"v")])
    assert world.broker.services.partitions.get(TOPIC, 0).log_end_offset == 1


async def test_many_records_are_appended_in_several_batches(world: BrokerWorld, reader: Reader) -> None:
    topic = SchemasTopic(world.broker.services)
    pairs = [(b"%d" % number, bytes(400_000)) for number in range(4)]
    topic.append(pairs)
    await SchemasTopic(world.broker.services).apply(reader)
    assert reader.found == pairs


@pytest.mark.parametrize(
    ("partitions", "configs", "why"),
    [
        (2, {"cleanup.policy": "compact"}, "it has 2 partitions instead of 1"),
        (1, {}, "its cleanup.policy is delete instead of compact"),
    ],
)
async def test_a_topic_that_would_lose_records_is_refused(
    world: BrokerWorld, reader: Reader, partitions: int, configs: dict[str, str | None], why: str
) -> None:
    world.broker.catalogue.create_topic(TOPIC, partitions, configs)
    topic = SchemasTopic(world.broker.services)
    with pytest.raises(SchemasLogFailure, match=why):
        topic.append([(b"k", b"v")])
    assert not topic.is_applied
    with pytest.raises(SchemasLogFailure, match=why):
        await topic.apply(reader)


async def test_a_topic_is_refused_as_long_as_it_would_lose_records(
    world: BrokerWorld, reader: Reader, caplog: pytest.LogCaptureFixture
) -> None:
    catalogue, topic = world.broker.catalogue, SchemasTopic(world.broker.services)
    topic.append([(b"k", b"v")])
    seen = []
    for policy in ("compact", "delete", "compact"):
        catalogue.alter_configs(2, TOPIC, [Alteration("cleanup.policy", 0, policy)])
        seen += [topic.is_applied, topic.is_applied]
    assert seen == [True, True, False, False, True, True]
    told = [each for each in caplog.messages if "topic cannot be used" in each]
    assert len(told) == 1
    assert "cleanup.policy is delete instead of compact" in told[0]
    catalogue.create_partitions([NewPartitions(TOPIC, 2)])
    assert not topic.is_applied
