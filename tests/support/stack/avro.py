"""Avro records through the registry at a Confluent-compatible `url`, with librdkafka's producer and consumer."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from tests.support.stack.compacted import last_values


@contextmanager
def registry_client(url: str) -> Iterator[SchemaRegistryClient]:
    """A client that knows nothing yet, and asks again when it gets no answer: by itself it waits for ever."""
    with SchemaRegistryClient({"url": url, "timeout": 30}) as client:
        yield client


def write_avro(
    address: str, url: str, topic: str, schema: str, records: Mapping[str, Mapping[str, object] | None]
) -> None:
    """Write records by key, None for a tombstone, the schema registered first if it has to be."""
    producer = Producer({"bootstrap.servers": address, "enable.idempotence": True})
    failures: list[object] = []

    def delivered(error: object, _: object) -> None:
        if error is not None:
            failures.append(error)

    with registry_client(url) as client:
        serialize: Any = AvroSerializer(client, schema)
        context = SerializationContext(topic, MessageField.VALUE)
        for key, record in records.items():
            value = None if record is None else serialize(record, context)
            producer.produce(topic, key=key, value=value, partition=0, on_delivery=delivered)
        assert producer.flush(60) == 0
    assert not failures


def read_avro(address: str, url: str, topic: str) -> dict[str, dict[str, object]]:
    """By key, the last record, with whatever schema it was written."""
    with registry_client(url) as client:
        deserialize: Any = AvroDeserializer(client)
        context = SerializationContext(topic, MessageField.VALUE)
        return {key: deserialize(value, context) for key, value in last_values(address, topic).items()}
