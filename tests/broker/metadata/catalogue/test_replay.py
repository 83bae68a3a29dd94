"""Replay is the only writer: what a restart replays is what was live, whatever was done. And replay is strict."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.metadata.catalogue import Catalogue, NewPartitions, NewTopic
from barnabas.broker.metadata.catalogue.config_alterations import Alteration
from barnabas.broker.metadata.image.framing import Versioned, decode_record, encode_record
from barnabas.broker.metadata.image.image import Image, ReplayError
from barnabas.protocol.codec.schema import Stored
from barnabas.protocol.errors import DecodeError, KafkaError
from barnabas.protocol.log_records.catalogue import (
    BrokerRegistrationChangeRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from barnabas.protocol.records.batch import iter_batches
from barnabas.protocol.records.record import iter_records
from tests.support.source_tree import ROOT
from tests.support.worlds.catalogue import DIRECTORY_ID, CatalogueWorld, state_of
from tests.support.worlds.configs import replace_configs

TOPIC = bytes(range(16))
_names = st.sampled_from(["a", "b", "a.b", "a_b", "c", "bad name", ""])
_keys = st.sampled_from(["retention.ms", "cleanup.policy", "log.retention.ms", "min.insync.replicas", "nonsense"])
_values = st.sampled_from(["1", "-7", "compact", "compact,delete", "", None])

_steps = st.one_of(
    st.tuples(st.just("create"), _names, st.integers(-2, 4), st.dictionaries(_keys, _values, max_size=2)),
    st.tuples(st.just("delete"), _names),
    st.tuples(st.just("grow"), _names, st.integers(0, 6)),
    st.tuples(st.just("alter"), st.sampled_from([2, 4]), _names, _keys, st.integers(0, 4), _values),
    st.tuples(st.just("replace"), st.sampled_from([2, 4]), _names, st.dictionaries(_keys, _values, max_size=3)),
    st.tuples(st.just("lead"), _names, st.integers(0, 3)),
    st.tuples(st.just("ids")),
    st.tuples(st.sampled_from(["stop", "kill"])),
)


def _take(catalogue: Catalogue, step: tuple[object, ...]) -> None:
    match step:
        case ("create", str(name), int(count), dict(configs)):
            catalogue.create_topics([NewTopic(name, count, configs=configs), NewTopic(name + "2")])
        case ("delete", str(name)) if name in catalogue.topics:
            catalogue.delete_topics([name])
        case ("grow", str(name), int(total)):
            catalogue.create_partitions([NewPartitions(name, total)])
        case ("alter", int(kind), str(name), str(key), int(operation), str() | None as value):
            catalogue.alter_configs(kind, name, [Alteration(key, operation, value)])
        case ("replace", int(kind), str(name), dict(configs)):
            replace_configs(catalogue, kind, name, configs)
        case ("lead", str(name), int(partition)):
            catalogue.leader_epoch(name, partition)
        case ("ids",):
            catalogue.allocate_producer_ids()


@given(st.lists(_steps, max_size=30))
def test_a_restart_replays_the_live_state(steps: list[tuple[object, ...]]) -> None:
    world = CatalogueWorld()
    for step in steps:
        if step in (("stop",), ("kill",)):
            getattr(world, str(step[0]))()
            continue
        before = state_of(world.catalogue)
        try:
            _take(world.catalogue, step)
        except KafkaError:
            assert state_of(world.catalogue) == before, "a refusal changes nothing"
    live = state_of(world.catalogue), world.catalogue._image.next_producer_id
    replayed = world.kill()
    assert (state_of(replayed), replayed._image.next_producer_id) == live


def _partition(number: int = 0, replicas: tuple[int, ...] = (1,), adding: tuple[int, ...] = ()) -> PartitionRecord:
    return PartitionRecord(
        partition_id=number,
        topic_id=TOPIC,
        replicas=list(replicas),
        isr=[1],
        removing_replicas=[],
        adding_replicas=list(adding),
        leader=1,
        leader_epoch=0,
        partition_epoch=0,
    )


def _registration(broker_id: int) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker_id, incarnation_id=TOPIC, broker_epoch=5, end_points=[], features=[], rack=None
    )


@pytest.mark.parametrize(
    ("records", "why"),
    [
        ([TopicRecord(name="t", topic_id=bytes(16))], "exists already"),
        ([TopicRecord(name="u", topic_id=TOPIC)], "exists already"),
        ([RemoveTopicRecord(topic_id=bytes(16))], "no topic with id"),
        ([PartitionChangeRecord(partition_id=1, topic_id=TOPIC)], "has no partition 1"),
        ([PartitionChangeRecord(partition_id=0, topic_id=bytes(16))], "no topic with id"),
        ([_partition(1, replicas=(1, 2))], "only directories of the single node 1"),
        ([_partition(1, adding=(2,))], "only directories of the single node 1"),
        ([PartitionChangeRecord(partition_id=0, topic_id=TOPIC, replicas=[2])], "only directories of the single node"),
        ([ProducerIdsRecord(broker_id=1, next_producer_id=1000)] * 2, "does not rise above 1000"),
        ([FeatureLevelRecord(name="metadata.version", feature_level=6)], "this version knows 7 to 33"),
        ([FeatureLevelRecord(name="new.feature", feature_level=1)], "new.feature is at level 1"),
        ([_registration(2)], "broker 2 is registered in the log of node 1"),
        ([BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=4, fenced=1)], "is not registered"),
        ([_registration(1), BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=4)], "is not registered"),
    ],
)
def test_a_record_that_cannot_follow_is_not_replayed(records: list[Stored], why: str) -> None:
    image = Image(1)
    image.replay(TopicRecord(name="t", topic_id=TOPIC), 1)
    image.replay(_partition(), 1)
    *before, last = records
    for record in before:
        image.replay(record, 1)
    with pytest.raises(ReplayError, match=why):
        image.replay(last, 1)


def test_partitions_may_come_in_any_order_but_not_with_gaps() -> None:
    image = Image(1)
    image.replay(TopicRecord(name="t", topic_id=TOPIC), 1)
    image.replay(_partition(2), 1)
    image.replay(_partition(0), 1)
    with pytest.raises(ReplayError, match="topic t lacks partition 1"):
        image.check_complete()
    image.replay(_partition(1), 1)
    image.check_complete()


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (None, "without a value"),
        (b"", "without a value"),
        (bytes.fromhex("001400"), "frame 0"),
        (bytes.fromhex("021400 00"), "frame 2"),
        (bytes.fromhex("011e0000"), "unknown catalogue record key 30"),
        (bytes.fromhex("01140100"), "NoOpRecord version 1 is not known"),
        (bytes.fromhex("0114000000"), "1 bytes behind a NoOpRecord"),
        (bytes.fromhex("0102000362"), "claims 2 bytes, but 1 are left"),
    ],
)
def test_a_record_that_is_not_understood_is_refused(value: bytes | None, why: str) -> None:
    with pytest.raises(DecodeError, match=why):
        decode_record(value)


@pytest.mark.parametrize(
    "text",
    [
        # a topic, a stopped partition of a Kafka with eligible leader replicas, its election, producer ids, a setting
        "010200 036274 425e73d6d7edd38daeae9f10721987e3 00",
        "010302 00000000 425e73d6d7edd38daeae9f10721987e3 0200000001 01 01 01 ffffffff 00000003 00000003"
        " 02 101112131415161718191a1b1c1d1e1f 02 01050200000001 02050200000001",
        "010502 00000000 425e73d6d7edd38daeae9f10721987e3 04 00050200000001 010400000001 060101 070101",
        "010f00 ffffffff ffffffffffffffff 0000000000001388 00",
        "010400 02 036274 0d726574656e74696f6e2e6d73 032d31 00",
    ],
)
def test_worked_record_values_decode_and_encode_to_the_same_bytes(text: str) -> None:
    value = bytes.fromhex(text)
    assert encode_record(Versioned(decode_record(value), value[2])) == value


# --- the page of the format ---

PAGE = ROOT / "docs" / "formats" / "catalogue.md"
WORKED = re.compile(r"^(KRaft\w+|LeaderChange|\w+Record) +([0-9a-f ]+(?:<\w+>[0-9a-f ]+)*)$", re.MULTILINE)


def test_the_worked_bytes_are_what_is_written() -> None:
    world = CatalogueWorld()
    topic_id = world.catalogue.create_topic("bt", 1, {"retention.ms": "-1"}).topic_id
    world.catalogue.allocate_producer_ids()
    world.catalogue.close()
    data = world.log()
    batches = [memoryview(data)[position:] for position, _ in iter_batches(data)]
    written = {record.value.hex() for batch in batches for record in iter_records(batch) if record.value is not None}
    text = PAGE.read_text().replace("<topic>", topic_id.hex()).replace("<directory>", DIRECTORY_ID.hex())
    documented = {name: value.replace(" ", "") for name, value in WORKED.findall(text)}
    assert len(documented) == 9
    assert {name for name, value in documented.items() if value not in written} == set()
