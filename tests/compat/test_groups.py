"""Consumers of several kinds in one group: partitions are shared, handed over, and read on from where one stopped."""

from collections.abc import Mapping

from confluent_kafka import Consumer
from kafka import KafkaConsumer, TopicPartition

from tests.compat.model import PARTITIONS, Client, Message, messages_for
from tests.compat.readers import PythonReader
from tests.support.processes.server import Server
from tests.support.waiting import until

Clients = Mapping[str, Client]
DEADLINE_S = 60


def _fill(server: Server, clients: Clients, topic: str, count: int) -> None:
    client = clients["confluent-kafka"]
    client.write(server.address, topic, messages_for(client, "lz4", count), "lz4")


def test_two_members_share_the_partitions_and_one_inherits_them(server: Server, clients: Clients) -> None:
    _fill(server, clients, "shared", 30)
    with PythonReader(server.address, "shared", "two-members") as first:
        assert first.wait_until_it_has(PARTITIONS) == set(range(PARTITIONS))
        with PythonReader(server.address, "shared", "two-members") as second:
            # Which of them gets the larger share depends on their ids, which are random.
            until(
                lambda: (
                    first.assigned
                    and second.assigned
                    and sorted([*first.assigned, *second.assigned]) == [*range(PARTITIONS)]
                ),
                DEADLINE_S,
            )
            first.leave()
            assert second.wait_until_it_has(PARTITIONS) == set(range(PARTITIONS))


def test_one_client_reads_on_where_another_stopped(server: Server, clients: Clients) -> None:
    client = clients["confluent-kafka"]
    _fill(server, clients, "relay", 30)
    first_half = ("java-4.4.0", "kafkajs", "aiokafka", "franz-go", "java-3.9.1")
    second_half = ("platformatic", "kafka-go", "java-2.8.2", "sarama", "kafka-python", "confluent-kafka")
    runners = [clients[name] for name in (*first_half, *second_half)]
    assert len(runners[0].read_in_group(server.address, "relay", "runners", 30)) == 30
    for lap, runner in enumerate(runners[1:]):
        client.write(server.address, "relay", [Message(lap % PARTITIONS, b"k", b"lap %d" % lap)], "none")
        found = runner.read_in_group(server.address, "relay", "runners", 1)
        assert [record.value for record in found] == [b"lap %d" % lap]


def test_offsets_committed_by_one_client_are_read_by_another(server: Server, clients: Clients) -> None:
    _fill(server, clients, "positions", 9)
    partition = TopicPartition("positions", 1)
    with KafkaConsumer(bootstrap_servers=server.address, group_id="told", enable_auto_commit=False) as consumer:
        consumer.assign([partition])
        consumer.seek(partition, 2)
        assert [record.offset for record in consumer.poll(timeout_ms=10_000)[partition]] == [2]
        consumer.commit()
    other = Consumer({"bootstrap.servers": server.address, "group.id": "told"})
    try:
        from confluent_kafka import TopicPartition as Position

        committed = other.committed([Position("positions", 1), Position("positions", 2)], timeout=10)
    finally:
        other.close()
    assert [position.offset for position in committed] == [3, -1001]  # nothing committed is librdkafka's OFFSET_INVALID
