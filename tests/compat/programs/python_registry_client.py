"""python_registry_client STEP ADDRESS REGISTRY TOPIC LANGUAGE: orders through python-schema-registry-client.

STEP is `write` or `read`; tests/compat/serializers/test_serializers.py says what each prints.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from confluent_kafka import Consumer, Producer
from schema_registry.client import SchemaRegistryClient
from schema_registry.client.errors import ClientError
from schema_registry.client.schema import AvroSchema, JsonSchema
from schema_registry.serializers.message_serializer import AvroMessageSerializer, JsonMessageSerializer

_KINDS: dict[str, tuple[Any, Any]] = {
    "AVRO": (AvroSchema, AvroMessageSerializer),
    "JSON": (JsonSchema, JsonMessageSerializer),
}
_ORDERS: tuple[dict[str, object], ...] = ({"amount": 1}, {"amount": 2, "note": "new"})


def write(serializer: Any, kind: Any, address: str, topic: str) -> None:
    """Write an order of each of two versions, and fail to register the third."""
    first, second, third = sys.argv[6:9]
    producer = Producer({"bootstrap.servers": address})
    for schema, order in ((first, _ORDERS[0]), (second, _ORDERS[1])):
        value = serializer.encode_record_with_schema(f"{topic}-value", kind(schema), order)
        producer.produce(topic, value=value, partition=0)
    assert producer.flush(60) == 0
    try:
        serializer.schemaregistry_client.register(f"{topic}-value", kind(third))
    except ClientError as error:
        _tell("refused", error.http_code)


def read(serializer: Any, address: str, topic: str) -> None:
    """Read two orders, with whatever schema they have."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "readers", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    for _ in range(2):
        message = consumer.poll(60)
        assert message is not None
        value = message.value()
        assert isinstance(value, bytes)
        _tell("order", int.from_bytes(value[1:5]), json.dumps(serializer.decode_message(value)))
    consumer.close()


def _tell(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")


def main() -> None:
    step, address, registry, topic, language = sys.argv[1:6]
    kind, serializer = _KINDS[language]
    serializers = serializer(SchemaRegistryClient(registry))
    if step == "write":
        write(serializers, kind, address, topic)
    else:
        read(serializers, address, topic)


if __name__ == "__main__":
    main()
