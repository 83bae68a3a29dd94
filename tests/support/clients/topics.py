"""Topics as kafka-python sees them: what tests write to them, and what a reader at read_committed finds."""

import time
from collections.abc import Iterable
from contextlib import closing
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic

from tests.support.waiting import PATIENCE_S, until


def create(address: str, topic: str, partitions: int, **configs: str) -> None:
    """Create a topic, of the broker's replication factor; its settings with underscores for dots."""
    named = {name.replace("_", "."): value for name, value in configs.items()}
    with closing(KafkaAdminClient(bootstrap_servers=address)) as admin:
        admin.create_topics([NewTopic(topic, partitions, -1, topic_configs=named)])


def send(address: str, topic: str, values: Iterable[bytes], **settings: Any) -> None:
    """Write values in turn to the topic's partitions."""
    with KafkaProducer(bootstrap_servers=address, **settings) as producer:
        partitions = sorted(producer.partitions_for(topic))
        futures = [
            producer.send(topic, value, partition=partitions[n % len(partitions)]) for n, value in enumerate(values)
        ]
        for future in futures:
            future.get(timeout=30)


def committed(address: str, topic: str, *, isolation: str = "read_committed") -> list[Any]:
    """All records (kafka-python's ConsumerRecord) that a reader finds up to the end, by partition and offset."""
    deadline = time.monotonic() + PATIENCE_S
    settings = {"isolation_level": isolation, "auto_offset_reset": "earliest", "enable_auto_commit": False}
    with closing(KafkaConsumer(bootstrap_servers=address, **settings)) as consumer:
        partitions = [TopicPartition(topic, each) for each in sorted(consumer.partitions_for_topic(topic) or ())]
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        consumer.seek_to_beginning()
        found: list[Any] = []
        while any(consumer.position(each) < ends[each] for each in partitions):
            assert time.monotonic() < deadline, f"{topic} was not read to its end: {ends}"
            for records in consumer.poll(timeout_ms=200).values():
                found += records
    return sorted(found, key=lambda record: (record.partition, record.offset))


def wait_for(address: str, topic: str, count: int) -> None:
    """Until so many records are committed."""
    until(lambda: len(committed(address, topic)) >= count, PATIENCE_S)


def wait_for_markers(address: str, topic: str) -> None:
    """Until no transaction is open in the topic: Apache Kafka writes the markers after it has answered."""
    until(lambda: _ends(address, topic, "read_committed") == _ends(address, topic, "read_uncommitted"), PATIENCE_S)


def _ends(address: str, topic: str, isolation: str) -> dict[TopicPartition, int]:
    with closing(KafkaConsumer(bootstrap_servers=address, isolation_level=isolation)) as consumer:
        ends: dict[TopicPartition, int] = consumer.end_offsets(
            [TopicPartition(topic, each) for each in consumer.partitions_for_topic(topic)]
        )
        return ends


def numbers(address: str, topic: str) -> list[int]:
    """What is committed in the topic, as sorted numbers."""
    return sorted(int(record.value) for record in committed(address, topic))
