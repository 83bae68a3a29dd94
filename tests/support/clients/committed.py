"""Our own client writes in transactions, and reads what was committed: used over every kind of connection."""

from collections.abc import Iterable

from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from barnabas.client.consume.consumer import ConsumedRecord, Consumer
from barnabas.client.consume.group_consumer import GroupConsumer
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import READ_COMMITTED
from barnabas.client.transactions.producer import TransactionalProducer


def begun(
    client: Client, transactional_id: str, *values: bytes, topic: str = "t", timeout_ms: int = 60_000
) -> TransactionalProducer:
    """A producer in a transaction, of a new life, that has these values in partition 0 of the topic."""
    producer = TransactionalProducer(client, transactional_id, timeout_ms=timeout_ms)
    producer.init()
    producer.begin()
    for value in values:
        producer.send(topic, value, partition=0)
    if values:
        producer.flush()
    return producer


def read_to_end(consumer: Consumer | GroupConsumer) -> list[ConsumedRecord]:
    """All records until no more come."""
    found: list[ConsumedRecord] = []
    while not consumer.is_at_end():
        found += consumer.poll(1000)
    return found


def read(client: Client, places: Iterable[TopicPartition], isolation: int = READ_COMMITTED) -> list[ConsumedRecord]:
    """All that is in these partitions for such a reader."""
    consumer = Consumer(client, isolation=isolation, auto_offset_reset="earliest")
    consumer.assign(places)
    return read_to_end(consumer)


def values(client: Client, topic: str) -> list[bytes | None]:
    """What a reader of committed records gets of partition 0."""
    return [each.record.value for each in read(client, [(topic, 0)])]


def read_after_transactions(client: Client, topic: str, *, committed: bytes, aborted: bytes) -> list[bytes | None]:
    """Make the topic, write one value in a transaction that is committed and one in another; what a reader gets."""
    create_topic(client, topic, partitions=1)
    producer = begun(client, topic)
    producer.send(topic, committed, partition=0)
    producer.commit()
    producer.begin()
    producer.send(topic, aborted, partition=0)
    producer.abort()
    return values(client, topic)
