"""Whoever outgrows this broker takes its data directory to Apache Kafka: everything in it is there, and goes on."""

from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from barnabas import Barnabas
from barnabas.client.addresses import Address
from barnabas.client.admin import groups
from barnabas.client.admin.group_descriptions import ConsumerMember, GroupInfo
from barnabas.client.admin.topics import create_topic, describe_topics
from barnabas.client.client import Client
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import committed_offsets
from barnabas.protocol.messages.consumer_group_heartbeat import Assignment
from tests.support.clients.heartbeats import heartbeat
from tests.support.depth import long
from tests.support.kafka.process import KafkaProcess
from tests.support.processes.broker import BrokerProcess

PARTITIONS, RECORDS = 3, 3000
SETTINGS = {"log.segment.bytes": 1_048_576, "offsets.topic.num.partitions": 4}


def _produce(address: str, first: int) -> None:
    producer = Producer({"bootstrap.servers": address, "enable.idempotence": True, "compression.type": "lz4"})
    for number in range(first, first + RECORDS):
        producer.produce("words", f"{number:06d}".encode() * 200, partition=number % PARTITIONS)
    assert producer.flush(30) == 0


def _consume(address: str, group: str, expected: int) -> list[int]:
    """What a group of one reads from where it stands, committed."""
    consumer = Consumer(
        {"bootstrap.servers": address, "group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    )
    consumer.subscribe(["words"])
    found: list[int] = []
    while len(found) < expected:
        message = consumer.poll(60)
        assert message is not None, f"only {len(found)} of {expected} records came"
        assert message.error() is None, message.error()
        value = message.value()
        assert value is not None
        found.append(int(value[:6]))
    consumer.commit(asynchronous=False)
    consumer.close()
    return found


def _committed(address: str, group: str) -> dict[TopicPartition, int]:
    with Client(address) as client:
        return committed_offsets(client, group)


@pytest.mark.parametrize("end", [long("stop"), "kill"])
def test_a_kafka_goes_on_where_this_broker_was_left(tmp_path: Path, end: str) -> None:
    data_dir = tmp_path / "data"
    with BrokerProcess(data_dir, SETTINGS) as broker:
        with Client(broker.address) as client:
            create_topic(client, "words", partitions=PARTITIONS, configs={"retention.ms": "-1"})
        _produce(broker.address, 0)
        assert sorted(_consume(broker.address, "readers", RECORDS)) == list(range(RECORDS))
        _produce(broker.address, RECORDS)
        offsets = _committed(broker.address, "readers")
        getattr(broker, end)()
    directories = {path.name for path in data_dir.iterdir() if path.is_dir()}
    with KafkaProcess(data_dir) as kafka:
        assert _committed(kafka.address, "readers") == offsets
        assert sorted(_consume(kafka.address, "readers", RECORDS)) == list(range(RECORDS, 2 * RECORDS))
        _produce(kafka.address, 2 * RECORDS)
        assert sorted(_consume(kafka.address, "others", 3 * RECORDS)) == list(range(3 * RECORDS))
        assert kafka.complaints() == []
    assert directories <= {path.name for path in data_dir.iterdir() if path.is_dir()}


def test_a_kafka_sees_one_node_where_there_were_three(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    config = {**SETTINGS, "default.replication.factor": 3}
    with Barnabas(brokers=3, data_dir=data_dir, config=config, topics={"words": PARTITIONS}) as nodes:
        _produce(nodes.bootstrap_servers, 0)
        for partition in range(PARTITIONS):
            nodes.move_leader("words", partition, 3)
        nodes.stop_node(3)
        _produce(nodes.bootstrap_servers, RECORDS)
        assert sorted(_consume(nodes.bootstrap_servers, "readers", 2 * RECORDS)) == list(range(2 * RECORDS))
        offsets = _committed(nodes.bootstrap_servers, "readers")
        nodes.stop()
    with KafkaProcess(data_dir) as kafka:
        assert _committed(kafka.address, "readers") == offsets
        with Client(kafka.address) as client:
            (topic,) = describe_topics(client, ["words"])
            assert [info.replicas for info in topic.partitions.values()] == [(1,)] * PARTITIONS
            assert all(info.leader_epoch >= 2 for info in topic.partitions.values()), "they were moved twice"
        _produce(kafka.address, 2 * RECORDS)
        assert sorted(_consume(kafka.address, "others", 3 * RECORDS)) == list(range(3 * RECORDS))
        assert kafka.complaints() == []
        kafka.stop()
    with Barnabas(brokers=3, data_dir=data_dir, config=config) as nodes:
        assert sorted(_consume(nodes.bootstrap_servers, "more", 3 * RECORDS)) == list(range(3 * RECORDS))


def test_members_of_the_consumer_protocol_go_on_in_either_broker(tmp_path: Path) -> None:
    """In their epochs, with what they had: the topics have the same hash here and there, so nobody is rebalanced."""
    data_dir = tmp_path / "data"
    with BrokerProcess(data_dir, SETTINGS) as broker, Client(broker.address) as client:
        create_topic(client, "words", partitions=PARTITIONS)
        assert heartbeat(client, "g", "m", topics=["words"]).member_epoch == 2
        described = groups.describe_group(client, "g")
        assert broker.stop() == 0
    with KafkaProcess(data_dir) as kafka, Client(kafka.address) as client:
        assert heartbeat(client, "g", "m", 2).assignment is None
        assert _without_place(groups.describe_group(client, "g")) == _without_place(described)
        second = heartbeat(client, "g", "n", topics=["words"])
        assert (second.member_epoch, second.assignment) == (3, Assignment(topic_partitions=[]))
        revoking = heartbeat(client, "g", "m", 2).assignment
        assert revoking is not None
        described = groups.describe_group(client, "g")
        kafka.stop()
    with BrokerProcess(data_dir, SETTINGS) as broker, Client(broker.address) as client:
        assert _without_place(groups.describe_group(client, "g")) == _without_place(described)
        kept = {each.topic_id: each.partitions for each in revoking.topic_partitions}
        assert heartbeat(client, "g", "m", 2, owned=kept).member_epoch == 3
        given = heartbeat(client, "g", "n", 3).assignment
        assert given is not None
        assert sum(len(each.partitions) for each in (*given.topic_partitions, *revoking.topic_partitions)) == PARTITIONS
        assert groups.describe_group(client, "g").state == "Stable"


def _without_place(group: GroupInfo) -> GroupInfo:
    """The group, wherever it is coordinated, and in whatever order partitions are told."""
    members = [
        member._replace(assignment=sorted(member.assignment or ()), consumer=_in_order(member.consumer))
        for member in group.members
    ]
    return group._replace(coordinator=Address("", 0), members=members)


def _in_order(member: ConsumerMember | None) -> ConsumerMember | None:
    return None if member is None else member._replace(target=sorted(member.target))
