"""Throttled clients: the same requests are told the same times by both brokers, and stock clients keep to them.

What is expected is worked out by hand: a rate is over the windows of ten seconds and what has begun of the eleventh, so
after so little time a client that used U bytes under a quota of Q waits for U / Q - 10 seconds, less what has gone by.
"""

import json
import time
import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from kafka import KafkaProducer

from barnabas.client.addresses import Address
from barnabas.client.admin.quotas import alter_quotas
from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from barnabas.client.clock import Deadline, SystemClientClock
from barnabas.client.connections.connection import BrokerConnection
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from barnabas.protocol.messages.produce import ProduceRequest
from barnabas.protocol.records.builder import NewRecord, build_batch
from tests.compat.clients.confluent import Confluent
from tests.support import requests
from tests.support.processes.server import Server

QUOTA = 20_000
BURST = 10 * QUOTA
SLACK_MS = 500
"""What a throttle may be shorter than expected, beside the time that is seen to go by here."""


@pytest.fixture
def client_id(server: Server) -> Iterator[str]:
    """A client id that nobody else has; it has no quota in the end."""
    name = f"client-{uuid.uuid4().hex[:8]}"
    yield name
    keys = ("producer_byte_rate", "consumer_byte_rate", "controller_mutation_rate")
    limit(server, name, **dict.fromkeys(keys))


def deadline() -> Deadline:
    return Deadline(SystemClientClock(), 30_000)


def connect(server: Server, client_id: str) -> BrokerConnection:
    return BrokerConnection(Address("127.0.0.1", server.port), client_id, deadline())


def limit(server: Server, client_id: str, **quotas: float | None) -> None:
    """None takes a quota back."""
    with Client(server.address) as client:
        alter_quotas(client, {"client-id": client_id}, quotas)


def new_topic(server: Server) -> tuple[str, bytes]:
    """Its name and id, once it is led."""
    name = f"quotas-{uuid.uuid4().hex[:8]}"
    with Client(server.address) as client:
        topic_id = create_topic(client, name, partitions=1)
        client.leader(name, 0, client.deadline())
    return name, topic_id


def produce(topic: tuple[str, bytes], size: int) -> ProduceRequest:
    batch = build_batch([NewRecord(None, b"x" * size, (), int(time.time() * 1000))])
    return requests.produce(bytes(batch), topic[0], topic_id=topic[1], timeout_ms=30_000)


def fetch(topic: tuple[str, bytes]) -> FetchRequest:
    return requests.fetch(topic=topic[0], topic_id=topic[1])


def is_about(throttle_ms: int, expected_ms: float, began_s: float) -> bool:
    """began_s: when the first request was sent. The broker's windows have moved on since."""
    gone_ms = (time.monotonic() - began_s) * 1000
    return expected_ms - gone_ms - SLACK_MS <= throttle_ms <= expected_ms + 50


def test_a_producer_is_told_how_long_to_wait_and_is_muted_for_so_long(server: Server, client_id: str) -> None:
    topic = new_topic(server)
    limit(server, client_id, producer_byte_rate=QUOTA)
    connection = connect(server, client_id)
    first_s = time.monotonic()
    answer = connection.ask(produce(topic, BURST - 50_000), deadline())
    assert (answer.responses[0].partition_responses[0].error_code, answer.throttle_time_ms) == (ErrorCode.NONE, 0)
    began_s = time.monotonic()
    answer = connection.ask(produce(topic, 80_000), deadline())
    assert is_about(answer.throttle_time_ms, 30_000 / QUOTA * 1000, first_s)
    connection.ask(ListGroupsRequest(), deadline())
    muted_ms = (time.monotonic() - began_s) * 1000
    assert muted_ms >= answer.throttle_time_ms - 50
    connection.close()


def test_a_consumer_is_answered_nothing_and_gets_it_later(server: Server, client_id: str) -> None:
    topic = new_topic(server)
    connect(server, "another").ask(produce(topic, BURST // 2 + 10_000), deadline())
    limit(server, client_id, consumer_byte_rate=QUOTA)
    connection = connect(server, client_id)
    first_s = time.monotonic()
    answer = connection.ask(fetch(topic), deadline())
    assert len(answer.responses[0].partitions[0].records) > BURST // 2
    assert answer.throttle_time_ms == 0
    began_s = time.monotonic()
    answer = connection.ask(fetch(topic), deadline())
    assert (answer.error_code, answer.responses) == (ErrorCode.NONE, [])
    assert is_about(answer.throttle_time_ms, 20_000 / QUOTA * 1000, first_s)
    connection.ask(fetch(topic), deadline())
    assert (time.monotonic() - began_s) * 1000 >= answer.throttle_time_ms - 50
    connection.close()


def test_a_burst_of_partitions_is_created_and_more_is_refused(server: Server, client_id: str) -> None:
    limit(server, client_id, controller_mutation_rate=1.0)
    connection = connect(server, client_id)
    names = [f"burst-{uuid.uuid4().hex[:8]}" for _ in range(2)]
    first_s = time.monotonic()
    answer = connection.ask(requests.create_topic(names[0], 20, 1), deadline())
    assert (answer.topics[0].error_code, answer.throttle_time_ms) == (ErrorCode.NONE, 0)
    answer = connection.ask(requests.create_topic(names[1], 1, 1), deadline())
    assert answer.topics[0].error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert is_about(answer.throttle_time_ms, 9_000, first_s)
    connection.close()


def test_librdkafka_takes_its_time_and_loses_nothing(server: Server, client_id: str) -> None:
    name, _ = new_topic(server)
    limit(server, client_id, producer_byte_rate=QUOTA)
    told: list[float] = []
    producer = Producer(
        {
            "bootstrap.servers": server.address,
            "client.id": client_id,
            "batch.size": 20_000,
            "statistics.interval.ms": 200,
            "stats_cb": lambda text: told.extend(
                each["throttle"]["max"] for each in json.loads(text)["brokers"].values() if "throttle" in each
            ),
        }
    )
    began_s = time.monotonic()
    for _ in range(24):
        producer.produce(name, b"x" * 10_000)
    assert producer.flush(30) == 0
    took_s = time.monotonic() - began_s
    producer.poll(0)
    assert took_s >= (240_000 - BURST - 20_000) / QUOTA
    assert max(told) > 0
    assert len(Confluent().read(server.address, name)) == 24


def test_kafka_python_takes_its_time_and_loses_nothing(server: Server, client_id: str) -> None:
    name, _ = new_topic(server)
    limit(server, client_id, producer_byte_rate=QUOTA)
    began_s = time.monotonic()
    with KafkaProducer(bootstrap_servers=server.address, client_id=client_id, batch_size=20_000) as producer:
        sent = [producer.send(name, b"x" * 10_000) for _ in range(24)]
        producer.flush(30)
        assert sorted(each.get(30).offset for each in sent) == list(range(24))
    assert time.monotonic() - began_s >= (240_000 - BURST - 20_000) / QUOTA
