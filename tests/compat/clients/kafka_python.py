"""kafka-python: a client written in Python, on threads of its own."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from tests.compat.model import WINDOW, Message, Stored, stored_of


class KafkaPython:
    name = "kafka-python"
    writes_bytes = True
    writes_null_headers = False

    def write(self, address: str, topic: str, messages: Sequence[Message], compression: str) -> list[int]:
        kind = None if compression == "none" else compression
        with KafkaProducer(bootstrap_servers=address, compression_type=kind) as producer:
            futures = [
                producer.send(
                    topic,
                    value=message.value,
                    key=message.key,
                    headers=list(message.headers),
                    partition=message.partition,
                    timestamp_ms=message.timestamp,
                )
                for message in messages
            ]
            return [future.get(timeout=30).offset for future in futures]

    def read(self, address: str, topic: str) -> list[Stored]:
        with KafkaConsumer(bootstrap_servers=address) as consumer:
            partitions = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic)]
            consumer.assign(partitions)
            consumer.seek_to_beginning()
            ends = consumer.end_offsets(partitions)
            found: list[Stored] = []
            while any(consumer.position(partition) < ends[partition] for partition in partitions):
                found += stored_of(consumer.poll(timeout_ms=1000))
            return found

    def read_in_group(self, address: str, topic: str, group: str, count: int) -> list[Stored]:
        with KafkaConsumer(topic, bootstrap_servers=address, group_id=group, auto_offset_reset="earliest") as consumer:
            found: list[Stored] = []
            while len(found) < count:
                found += stored_of(consumer.poll(timeout_ms=1000))
            consumer.commit()
            return found

    def stream(self, address: str, topic: str, count: int, on_ack: Callable[[int, int], None]) -> None:
        free = threading.Semaphore(WINDOW)
        with KafkaProducer(bootstrap_servers=address) as producer:
            futures = []
            for number in range(count):
                free.acquire()
                future = producer.send(topic, value=b"%d" % number)

                def acknowledged(metadata: Any, number: int = number) -> None:
                    on_ack(number, metadata.offset)
                    free.release()

                future.add_callback(acknowledged)
                futures.append(future)
            for future in futures:
                future.get(timeout=60)
