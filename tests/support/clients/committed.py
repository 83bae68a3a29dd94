"""Our own client writes in transactions, and reads what was committed: what is tried over every kind of connection."""

from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from barnabas.client.consume.consumer import Consumer
from barnabas.client.offsets import READ_COMMITTED
from barnabas.client.transactions.producer import TransactionalProducer


def read_after_transactions(client: Client, topic: str, *, committed: bytes, aborted: bytes) -> list[bytes | None]:
    """Make the topic, write one value in a transaction that is committed and one in another; what a reader gets."""
    create_topic(client, topic, partitions=1)
    producer = TransactionalProducer(client, topic)
    producer.init()
    producer.begin()
    producer.send(topic, committed, partition=0)
    producer.commit()
    producer.begin()
    producer.send(topic, aborted, partition=0)
    producer.abort()
    consumer = Consumer(client, isolation=READ_COMMITTED, auto_offset_reset="earliest")
    consumer.assign([(topic, 0)])
    values: list[bytes | None] = []
    while not consumer.is_at_end():
        values += [each.record.value for each in consumer.poll(1000)]
    return values
