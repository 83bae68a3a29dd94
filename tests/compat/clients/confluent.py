"""confluent-kafka: librdkafka behind Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition

from tests.compat.model import WINDOW, Message, Stored


class Confluent:
    name = "confluent-kafka"
    writes_bytes = True
    writes_null_headers = True

    def write(self, address: str, topic: str, messages: Sequence[Message], compression: str) -> list[int]:
        producer = Producer({"bootstrap.servers": address, "compression.type": compression})
        offsets = [-1] * len(messages)
        for number, message in enumerate(messages):

            def delivered(error: Any, stored: Any, number: int = number) -> None:
                _check(error)
                offsets[number] = stored.offset()

            producer.produce(
                topic,
                value=message.value,
                key=message.key,
                headers=list(message.headers),
                partition=message.partition,
                timestamp=message.timestamp or 0,
                on_delivery=delivered,
            )
        assert producer.flush(30) == 0
        return offsets

    def read(self, address: str, topic: str) -> list[Stored]:
        consumer = Consumer({"bootstrap.servers": address, "group.id": "none", "enable.auto.commit": False})
        try:
            known = consumer.list_topics(topic, timeout=10).topics[topic].partitions
            partitions = [TopicPartition(topic, number, OFFSET_BEGINNING) for number in known]
            left = 0
            for partition in partitions:
                low, high = consumer.get_watermark_offsets(partition, timeout=10)
                left += high - low
            consumer.assign(partitions)
            return _consume(consumer, left)
        finally:
            consumer.close()

    def read_in_group(self, address: str, topic: str, group: str, count: int) -> list[Stored]:
        consumer = Consumer({"bootstrap.servers": address, "group.id": group, "auto.offset.reset": "earliest"})
        try:
            consumer.subscribe([topic])
            found = _consume(consumer, count)
            consumer.commit(asynchronous=False)
            return found
        finally:
            consumer.close()

    def stream(self, address: str, topic: str, count: int, on_ack: Callable[[int, int], None]) -> None:
        producer = Producer({"bootstrap.servers": address, "enable.idempotence": True})
        for number in range(count):

            def delivered(error: Any, stored: Any, number: int = number) -> None:
                _check(error)
                on_ack(number, stored.offset())

            while len(producer) >= WINDOW:
                producer.poll(0.1)
            producer.produce(topic, value=b"%d" % number, on_delivery=delivered)
            producer.poll(0)
        assert producer.flush(60) == 0


def _consume(consumer: Consumer, count: int) -> list[Stored]:
    found: list[Stored] = []
    while len(found) < count:
        for message in consumer.consume(1000, timeout=0.2):
            _check(message.error())
            headers = tuple(message.headers() or ())
            _, timestamp = message.timestamp()
            found.append(
                Stored(message.partition(), message.offset(), timestamp, message.key(), message.value(), headers)
            )
    return found


def _check(error: Any) -> None:
    if error is not None:
        raise KafkaException(error)
