"""Consumers that say their rack read from the replica in it, not from the leader (KIP-392)."""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from barnabas import Barnabas
from barnabas.client.admin.nodes import reassign
from barnabas.client.client import Client
from barnabas.client.produce.producer import Producer
from tests.support.clients.java import FAST_START, logging_options
from tests.support.kafka.jars import tools_libs
from tests.support.waiting import PATIENCE_S, until

CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
LEADER, FOLLOWER, RACK = 1, 2, "b"
VALUES = [b"one", b"two", b"three"]


@pytest.fixture
def broker() -> Iterator[Barnabas]:
    """Two nodes in two racks; the first leads the one partition."""
    config = {
        "broker.rack": ["a", RACK],
        "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    }
    with Barnabas(brokers=2, topics={"t": 1}, config=config) as broker:
        with Client(broker.bootstrap_servers) as client:
            reassign(client, {("t", 0): [LEADER, FOLLOWER]})
            with Producer(client) as producer:
                for value in VALUES:
                    producer.send("t", value, partition=0)
        assert broker.leader("t", 0) == LEADER
        yield broker


def test_librdkafka_reads_from_the_replica_in_its_rack(broker: Barnabas) -> None:
    read_from: list[int] = []

    def note(statistics: str) -> None:
        partition = json.loads(statistics)["topics"].get("t", {}).get("partitions", {}).get("0")
        if partition is not None:
            read_from.append(partition["broker"])

    settings: dict[str, Any] = {
        "bootstrap.servers": broker.bootstrap_servers,
        "group.id": "g",
        "client.rack": RACK,
        "auto.offset.reset": "earliest",
        "statistics.interval.ms": 20,
        "stats_cb": note,
    }
    found: list[bytes] = []
    with closing(Consumer(settings)) as consumer:
        consumer.assign([TopicPartition("t", 0, 0)])

        def is_read() -> bool:
            message = consumer.poll(0.05)
            if message is not None:
                assert message.error() is None
                found.append(message.value() or b"")
            return len(found) == len(VALUES) and FOLLOWER in read_from

        until(is_read)
    assert found == VALUES


def test_the_java_consumer_reads_from_the_replica_in_its_rack(broker: Barnabas) -> None:
    consumed = subprocess.run(
        [
            "java",
            "-Xmx256m",
            *FAST_START,
            *logging_options("DEBUG", "SYSTEM_ERR"),
            "-cp",
            f"{tools_libs()}/*",
            CONSOLE_CONSUMER,
            *("--bootstrap-server", broker.bootstrap_servers, "--topic", "t", "--from-beginning"),
            *("--max-messages", str(len(VALUES)), "--timeout-ms", "60000"),
            *("--command-property", f"client.rack={RACK}"),
        ],
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert consumed.stdout.split() == VALUES
    said = consumed.stderr.decode()
    assert re.search(rf"preferred read replica for partition t-0 to {FOLLOWER}", said)
    assert re.search(rf"fetch request for partition t-0 at .* to node \S+ \(id: {FOLLOWER} rack: {RACK}", said)
