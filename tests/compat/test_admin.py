"""Administration by librdkafka's own interface. What is refused is in tests/golden/probes and tests/oracle/admin."""

import uuid
from typing import Any

import pytest
from confluent_kafka import TopicPartition
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


def test_the_cluster_describes_itself(admin: AdminClient, server: Server) -> None:
    cluster = admin.describe_cluster().result(timeout=30)
    assert [(node.id, node.port) for node in cluster.nodes] == [(1, server.port)]
    assert len(cluster.cluster_id) == 22


def test_partitions_are_added(admin: AdminClient, topic: str) -> None:
    _create(admin, NewTopic(topic, num_partitions=2))
    _result(admin.create_partitions([NewPartitions(topic, 4)]))
    until(lambda: len(admin.list_topics(topic, timeout=10).topics[topic].partitions) == 4)


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
    specs = [
        (OffsetSpec.earliest(), 0),
        (OffsetSpec.latest(), 10),
        (OffsetSpec.max_timestamp(), 9),
        (OffsetSpec.for_timestamp(start + 4000), 4),
        (OffsetSpec.for_timestamp(start + 4001), 5),  # between two records
        (OffsetSpec.for_timestamp(start + 99_000), -1),  # after the last
    ]
    found = [_result(admin.list_offsets({partition: spec})).offset for spec, _ in specs]
    assert found == [offset for _, offset in specs]
