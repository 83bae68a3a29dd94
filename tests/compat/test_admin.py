"""Administration by the clients' own admin interfaces, and Kafka's error codes where a wish cannot be granted."""

import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic, OffsetSpec

from tests.compat.model import PARTITIONS, Client, Message
from tests.support.processes.server import Server
from tests.support.waiting import until


@pytest.fixture(scope="module")
def admin(server: Server) -> AdminClient:
    return AdminClient({"bootstrap.servers": server.address})


@pytest.fixture
def topic() -> str:
    return f"topic-{uuid.uuid4().hex[:8]}"


def _result(futures: dict[Any, Any]) -> Any:
    [future] = futures.values()
    return future.result(timeout=30)


def _create(admin: AdminClient, wish: NewTopic) -> None:
    """Make the topic and wait until everybody knows it: Apache Kafka answers before its broker does."""
    _result(admin.create_topics([wish]))
    until(lambda: wish.topic in admin.list_topics(timeout=10).topics)


def _refused(ask: Callable[[], Any]) -> int:
    """The error code with which what `ask` does is refused."""
    with pytest.raises(KafkaException) as refusal:
        ask()
    error = refusal.value.args[0]
    assert isinstance(error, KafkaError)
    code: int = error.code()
    return code


def test_the_cluster_describes_itself(admin: AdminClient, server: Server) -> None:
    cluster = admin.describe_cluster().result(timeout=30)
    assert [(node.id, node.port) for node in cluster.nodes] == [(1, server.port)]
    assert len(cluster.cluster_id) == 22


def test_partitions_are_added(admin: AdminClient, topic: str) -> None:
    _create(admin, NewTopic(topic, num_partitions=2))
    _result(admin.create_partitions([NewPartitions(topic, 4)]))
    until(lambda: len(admin.list_topics(topic, timeout=10).topics[topic].partitions) == 4)
    too_few = _refused(lambda: _result(admin.create_partitions([NewPartitions(topic, 3)])))
    assert too_few == KafkaError.INVALID_PARTITIONS


def test_a_topic_cannot_be_made_twice_or_badly(admin: AdminClient, topic: str) -> None:
    _create(admin, NewTopic(topic))
    wishes = {
        KafkaError.TOPIC_ALREADY_EXISTS: NewTopic(topic),
        KafkaError.TOPIC_EXCEPTION: NewTopic("no spaces"),
        KafkaError.INVALID_REPLICATION_FACTOR: NewTopic(f"{topic}-r", num_partitions=1, replication_factor=3),
        KafkaError.INVALID_CONFIG: NewTopic(f"{topic}-c", config={"retention.ms": "soon"}),
        KafkaError.INVALID_PARTITIONS: NewTopic(f"{topic}-p", num_partitions=0),
    }
    refusals = {code: _refused(partial(_create, admin, wish)) for code, wish in wishes.items()}
    assert refusals == {code: code for code in wishes}


def test_a_deleted_topic_is_gone_and_its_name_is_free(
    admin: AdminClient, server: Server, clients: dict[str, Client], topic: str
) -> None:
    client = clients["confluent-kafka"]
    _create(admin, NewTopic(topic, num_partitions=PARTITIONS))
    client.write(server.address, topic, [Message(0, b"k", b"old")], "none")
    _result(admin.delete_topics([topic]))
    until(lambda: topic not in admin.list_topics(timeout=10).topics)
    _create(admin, NewTopic(topic, num_partitions=PARTITIONS))
    client.write(server.address, topic, [Message(0, b"k", b"new")], "none")
    assert [(record.offset, record.value) for record in client.read(server.address, topic)] == [(0, b"new")]


def test_an_unknown_topic_cannot_be_deleted(admin: AdminClient, topic: str) -> None:
    assert _refused(lambda: _result(admin.delete_topics([topic]))) == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_a_topics_own_settings_are_told_from_the_defaults(admin: AdminClient, topic: str) -> None:
    _create(admin, NewTopic(topic, config={"retention.ms": "3600000"}))
    settings = _result(admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, topic)]))
    assert (settings["retention.ms"].value, settings["retention.ms"].is_default) == ("3600000", False)
    assert (settings["segment.bytes"].value, settings["segment.bytes"].is_default) == ("1073741824", True)


def test_offsets_are_found_by_time(admin: AdminClient, server: Server, clients: dict[str, Client], topic: str) -> None:
    start = 1_700_000_000_000
    messages = [Message(0, b"k", b"%d" % n, (), start + n * 1000) for n in range(10)]
    clients["confluent-kafka"].write(server.address, topic, messages, "gzip")
    partition = TopicPartition(topic, 0)
    specs = {
        "earliest": OffsetSpec.earliest(),
        "latest": OffsetSpec.latest(),
        "of the largest time": OffsetSpec.max_timestamp(),
        "at a record's time": OffsetSpec.for_timestamp(start + 4000),
        "between two records": OffsetSpec.for_timestamp(start + 4001),
        "after the last": OffsetSpec.for_timestamp(start + 99_000),
    }
    found = {name: _result(admin.list_offsets({partition: spec})).offset for name, spec in specs.items()}
    assert found == {
        "earliest": 0,
        "latest": 10,
        "of the largest time": 9,
        "at a record's time": 4,
        "between two records": 5,
        "after the last": -1,
    }


def test_a_message_that_is_too_large_is_refused(admin: AdminClient, server: Server, topic: str) -> None:
    _create(admin, NewTopic(topic, num_partitions=1, config={"max.message.bytes": "1000"}))
    refusals: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": server.address})
    producer.produce(topic, value=bytes(2000), on_delivery=lambda error, _: refusals.append(error))
    producer.flush(30)
    assert [error and error.code() for error in refusals] == [KafkaError.MSG_SIZE_TOO_LARGE]


def test_a_compacted_topic_refuses_a_message_without_a_key(admin: AdminClient, server: Server, topic: str) -> None:
    _create(admin, NewTopic(topic, num_partitions=1, config={"cleanup.policy": "compact"}))
    refusals: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": server.address})
    producer.produce(topic, value=b"no key", on_delivery=lambda error, _: refusals.append(error))
    producer.flush(30)
    assert [error and error.code() for error in refusals] == [KafkaError.INVALID_RECORD]
