"""Topics for Spark to read: many rows of one size, written in batches as Kafka's own producer makes them."""

import random

from barnabas.client.admin.topics import create_topic, delete_topic
from barnabas.client.client import Client
from barnabas.client.errors import raise_for
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.protocol.records.builder import NewRecord, build_batch

_BATCH_BYTES = 16_384  # the producer's batch.size by default
_KEY_BYTES = 8
_TEMPLATES = 20
_IN_FLIGHT = 5


def make_topic(address: str, topic: str, partitions: int) -> None:
    """Create an empty topic."""
    with Client(address) as client:
        create_topic(client, topic, partitions=partitions)


def drop_topic(address: str, topic: str) -> None:
    """Delete a topic."""
    with Client(address) as client:
        delete_topic(client, topic)


def fill(address: str, topic: str, partitions: int, rows: int, size: int) -> int:
    """Write about `rows` rows of `size` bytes, key included, evenly to all partitions; return their number."""
    per_batch = max(1, _BATCH_BYTES // (size + 10))
    batches = max(1, rows // partitions // per_batch)
    draw = random.Random(size)
    make_topic(address, topic, partitions)
    with Client(address) as client:
        now_ms = client.clock.now_ms()
        templates = [
            build_batch(
                [
                    NewRecord(b"%08d" % draw.randrange(10**8), draw.randbytes(size - _KEY_BYTES), (), now_ms + number)
                    for number in range(per_batch)
                ]
            )
            for _ in range(_TEMPLATES)
        ]
        for partition in range(partitions):
            _write(client, topic, partition, [templates[number % _TEMPLATES] for number in range(batches)])
    return batches * per_batch * partitions


def _write(client: Client, topic: str, partition: int, batches: list[bytearray]) -> None:
    deadline = client.deadline(300_000)
    client.refresh([topic], deadline)
    connection = client.node(client.leader(topic, partition, deadline), deadline)
    for number, batch in enumerate(batches):
        data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=partition, records=batch)])
        connection.send(ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[data]), deadline)
        if connection.in_flight == _IN_FLIGHT or number == len(batches) - 1:
            while connection.in_flight:
                answer = connection.receive(deadline).responses[0].partition_responses[0]
                raise_for(answer.error_code, answer.error_message, f"{topic}-{partition}")
