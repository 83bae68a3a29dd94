"""The whole client against a real broker: what goes in comes out, by assignment and in a group."""

import pytest

from barnabas.client.admin.configs import (
    ConfigChange,
    ConfigOperation,
    ConfigSource,
    ResourceType,
    alter_configs,
    describe_configs,
)
from barnabas.client.admin.records import delete_records
from barnabas.client.admin.topics import create_partitions, create_topic, delete_topic, describe_topics, list_topics
from barnabas.client.client import Client
from barnabas.client.consume.classic_membership import ClassicProtocol
from barnabas.client.consume.consumer import ConsumedRecord, Consumer
from barnabas.client.consume.group_consumer import GroupConsumer
from barnabas.client.offsets import EARLIEST, LATEST, MAX_TIMESTAMP, committed_offsets, list_offsets
from barnabas.client.produce.partitioner import partition_for_key
from barnabas.client.produce.producer import Producer
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.records.compression import COMPRESSION_IDS

T = 1_700_000_000_000  # ms


def read_all(source: Consumer | GroupConsumer) -> list[ConsumedRecord]:
    """Everything up to the end."""
    found: list[ConsumedRecord] = []
    while not source.is_at_end():
        found += source.poll(1000)
    return found


@pytest.mark.parametrize("compression", COMPRESSION_IDS)
def test_everything_about_a_record_comes_back(client: Client, compression: str) -> None:
    topic = f"records-{compression}"
    create_topic(client, topic, partitions=1)
    with Producer(client, compression=compression) as producer:
        for n in range(100):
            producer.send(
                topic, b"v" * n or None, key=b"k%d" % n, headers=[("h", b"%d" % n), ("n", None)], timestamp=T + n
            )
    consumer = Consumer(client, auto_offset_reset="earliest")
    consumer.assign([(topic, 0)])
    assert [(each.topic, each.partition, *each.record) for each in read_all(consumer)] == [
        (topic, 0, n, T + n, b"k%d" % n, b"v" * n or None, [("h", b"%d" % n), ("n", None)]) for n in range(100)
    ]


def test_keys_decide_the_partition_and_keyless_records_go_around(client: Client) -> None:
    create_topic(client, "partitions", partitions=3)
    producer = Producer(client, batch_bytes=1000)
    keyed = {n: producer.send("partitions", b"v", key=b"%d" % n) for n in range(50)}
    keyless = [producer.send("partitions", bytes(300)) for _ in range(30)]
    producer.flush()
    assert {n: delivery.partition for n, delivery in keyed.items()} == {
        n: partition_for_key(b"%d" % n, 3) for n in range(50)
    }
    assert {delivery.partition for delivery in keyless} == {0, 1, 2}
    for partition in range(3):
        offsets = [d.result() for d in [*keyed.values(), *keyless] if d.partition == partition]
        assert sorted(offsets) == list(range(len(offsets)))


@pytest.mark.parametrize("acks", [-1, 1, 0])
def test_every_kind_of_acknowledgement_gets_the_record_there(client: Client, acks: int) -> None:
    topic = f"acks{acks}"
    create_topic(client, topic, partitions=1)
    with Producer(client, acks=acks) as producer:
        delivery = producer.send(topic, b"v")
    assert delivery.result() == (-1 if acks == 0 else 0)
    consumer = Consumer(client, auto_offset_reset="earliest")
    consumer.assign({(topic, 0): 0})
    assert [each.record.value for each in consumer.poll(5000)] == [b"v"]


def test_a_topic_that_is_not_there_is_created_by_producing(client: Client) -> None:
    with Producer(client) as producer:
        delivery = producer.send("automatic", b"v")
    assert delivery.result() == 0


def test_offsets_are_found_by_time_and_by_name(client: Client) -> None:
    create_topic(client, "times", partitions=2)
    with Producer(client) as producer:
        for n in (10, 30, 20):
            producer.send("times", b"v", partition=0, timestamp=T + n)

    def offset(which: int) -> tuple[int, int]:
        return list_offsets(client, {("times", 0): which})["times", 0][:2]

    assert [offset(which) for which in (EARLIEST, LATEST, MAX_TIMESTAMP)] == [(0, -1), (3, -1), (1, T + 30)]
    assert [offset(T + at) for at in (0, 10, 11, 30, 31)] == [
        (0, T + 10),
        (0, T + 10),
        (1, T + 30),
        (1, T + 30),
        (-1, -1),
    ]
    assert list_offsets(client, {("times", 1): LATEST})["times", 1].offset == 0


def test_deleted_records_are_gone_and_the_position_is_reset(client: Client) -> None:
    create_topic(client, "cut", partitions=1)
    for n in range(5):
        with Producer(client) as producer:
            producer.send("cut", b"%d" % n)
    assert delete_records(client, {("cut", 0): 3}) == {("cut", 0): 3}
    consumer = Consumer(client, auto_offset_reset="earliest")
    consumer.assign({("cut", 0): 0})
    assert [each.record.value for each in consumer.poll(5000)] == [b"3", b"4"]
    strict = Consumer(client, auto_offset_reset="none")
    strict.assign({("cut", 0): 0})
    with pytest.raises(KafkaError, match="OFFSET_OUT_OF_RANGE"):
        strict.poll(5000)


def test_a_poll_returns_at_most_the_requested_records(client: Client) -> None:
    create_topic(client, "few", partitions=2)
    with Producer(client) as producer:
        for n in range(10):
            producer.send("few", b"%d" % n, partition=n % 2)
    consumer = Consumer(client, auto_offset_reset="earliest")
    consumer.assign([("few", 0), ("few", 1)])
    found = [record for _ in range(10) for record in consumer.poll(5000, max_records=1)]
    assert sorted(each.record.value or b"" for each in found) == [b"%d" % n for n in range(10)]
    assert consumer.is_at_end()
    assert consumer.poll(1) == []


def test_a_group_goes_on_where_it_committed(client: Client) -> None:
    create_topic(client, "grouped", partitions=2)
    with Producer(client) as producer:
        for n in range(20):
            producer.send("grouped", b"%d" % n, partition=n % 2)
    with GroupConsumer(client, "readers", ["grouped"], auto_offset_reset="earliest") as member:
        first = member.poll(5000, max_records=7)
        assert member.assignment == [("grouped", 0), ("grouped", 1)]
    assert sum(committed_offsets(client, "readers").values()) == 7
    with GroupConsumer(client, "readers", ["grouped"], auto_offset_reset="earliest") as member:
        rest = read_all(member)
    assert sorted(int(each.record.value or b"") for each in first + rest) == list(range(20))
    assert committed_offsets(client, "readers", [("grouped", 0)]) == {("grouped", 0): 10}
    assert committed_offsets(client, "nobody") == {}


def test_two_members_share_the_partitions(client: Client, broker: object) -> None:
    create_topic(client, "shared", partitions=4)
    often = ClassicProtocol(heartbeat_ms=50)
    first = GroupConsumer(client, "sharers", ["shared"], auto_offset_reset="earliest", protocol=often)
    assert first.poll(100) == []
    assert len(first.assignment) == 4
    import threading

    joined = threading.Event()
    with Client(broker.address, timeout_ms=10_000) as other:  # type: ignore[attr-defined]  # because it is an OwnBroker
        second = GroupConsumer(other, "sharers", ["shared"], auto_offset_reset="earliest", protocol=often)

        def join() -> None:
            second.poll(100)
            joined.set()

        thread = threading.Thread(target=join)
        thread.start()
        while not joined.is_set():
            first.poll(50)
        thread.join()
        assert sorted(first.assignment + second.assignment) == [("shared", n) for n in range(4)]
        assert len(first.assignment) == len(second.assignment) == 2
        second.close()
        while len(first.assignment) < 4:
            first.poll(50)
    first.close()


def test_topics_are_made_described_grown_and_deleted(client: Client) -> None:
    topic_id = create_topic(client, "life", partitions=2, configs={"retention.ms": "1000"})
    (topic,) = describe_topics(client, ["life"])
    assert (topic.topic_id, len(topic.partitions), topic.is_internal) == (topic_id, 2, False)
    create_topic(client, "imagined", validate_only=True)
    create_partitions(client, "life", 5, validate_only=True)
    create_partitions(client, "life", 3)
    assert [len(each.partitions) for each in list_topics(client) if each.name in ("life", "imagined")] == [3]
    delete_topic(client, "life")
    with pytest.raises(KafkaError, match="topic 'life'"):
        describe_topics(client, ["life"])


@pytest.mark.parametrize(
    ("attempt", "code"),
    [
        (lambda client: create_topic(client, "bad name"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (lambda client: create_topic(client, "x", replication_factor=3), ErrorCode.INVALID_REPLICATION_FACTOR),
        (lambda client: create_topic(client, "x", configs={"nope": "1"}), ErrorCode.INVALID_CONFIG),
        (lambda client: delete_topic(client, "nowhere"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (lambda client: create_partitions(client, "nowhere", 3), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_a_refusal_of_the_broker_arrives_with_its_code(client: Client, attempt: object, code: ErrorCode) -> None:
    assert callable(attempt)
    with pytest.raises(KafkaError) as caught:
        attempt(client)
    assert caught.value.code is code


def test_configs_are_described_and_altered(client: Client) -> None:
    create_topic(client, "configured", configs={"cleanup.policy": "compact"})

    def value(name: str) -> tuple[str | None, int]:
        (found,) = describe_configs(client, ResourceType.TOPIC, "configured", [name])
        return found.value, found.source

    changes = [
        ConfigChange("retention.ms", ConfigOperation.SET, "5000"),
        ConfigChange("cleanup.policy", ConfigOperation.APPEND, "delete"),
    ]
    alter_configs(client, ResourceType.TOPIC, "configured", changes, validate_only=True)
    assert value("retention.ms")[1] == ConfigSource.DEFAULT
    alter_configs(client, ResourceType.TOPIC, "configured", changes)
    assert value("retention.ms") == ("5000", ConfigSource.TOPIC)
    assert value("cleanup.policy")[0] == "compact,delete"
    alter_configs(client, ResourceType.TOPIC, "configured", [ConfigChange("retention.ms", ConfigOperation.DELETE)])
    assert value("retention.ms")[1] == ConfigSource.DEFAULT
    assert [config.value for config in describe_configs(client, ResourceType.BROKER, "1", ["node.id"])] == ["1"]
