"""confluent-kafka: librdkafka behind Python."""

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition

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
        producer.close()
        return offsets

    def read(self, address: str, topic: str, isolation: str = "read_committed") -> list[Stored]:
        settings = {"bootstrap.servers": address, "group.id": "none", "enable.auto.commit": False}
        # An end is told when there is nothing to fetch: soon, also where somebody writes all the while.
        settings |= {"enable.partition.eof": True, "fetch.wait.max.ms": 5, "isolation.level": isolation}
        with closing(Consumer(settings)) as consumer:
            unread = set(consumer.list_topics(topic, timeout=10).topics[topic].partitions)
            consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in unread])
            found = []
            while unread:
                message = consumer.poll(1.0)
                if message is None:
                    continue
                error = message.error()
                if error is None:
                    found.append(_stored(message))
                elif error.code() == KafkaError._PARTITION_EOF:
                    unread.discard(message.partition())
                else:
                    raise KafkaException(error)
            return found

    def read_in_group(self, address: str, topic: str, group: str, count: int) -> list[Stored]:
        settings = {"bootstrap.servers": address, "group.id": group, "auto.offset.reset": "earliest"}
        with closing(Consumer(settings)) as consumer:
            consumer.subscribe([topic])
            found: list[Stored] = []
            while len(found) < count:
                if (message := consumer.poll(1.0)) is not None:  # a message without a value is false
                    _check(message.error())
                    found.append(_stored(message))
            consumer.commit(asynchronous=False)
            return found

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
        producer.close()


def _stored(message: Any) -> Stored:
    headers = tuple(message.headers() or ())
    _, timestamp = message.timestamp()
    return Stored(message.partition(), message.offset(), timestamp, message.key(), message.value(), headers)


def _check(error: Any) -> None:
    if error is not None:
        raise KafkaException(error)
