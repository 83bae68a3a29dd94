"""confluent_serializers STEP ADDRESS REGISTRY TOPIC LANGUAGE: orders through Confluent's serializers for Python.

STEP is `write` or `read`; tests/compat/serializers/test_serializers.py says what each prints.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import Consumer, Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, json_format, message_factory

Order = Mapping[str, object]
_INT64, _STRING = descriptor_pb2.FieldDescriptorProto.TYPE_INT64, descriptor_pb2.FieldDescriptorProto.TYPE_STRING
_MESSAGES = ({"amount": _INT64}, {"amount": _INT64, "note": _STRING}, {"amount": _STRING})
_ORDERS: tuple[Order, ...] = ({"amount": 1}, {"amount": 2, "note": "new"}, {"amount": "3"})


def _message(version: int) -> Any:
    """Return the class of a message, as protoc generates it."""
    file = descriptor_pb2.FileDescriptorProto(name="order.proto", package="shop", syntax="proto3")
    message = file.message_type.add(name="Order")
    for number, (name, kind) in enumerate(_MESSAGES[version].items(), start=1):
        message.field.add(name=name, number=number, type=kind, label=descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL)
    return message_factory.GetMessages([file])["shop.Order"]


def _serializers(client: SchemaRegistryClient, language: str, schemas: list[str]) -> list[Callable[[Order], Any]]:
    context = SerializationContext(sys.argv[4], MessageField.VALUE)

    def one(version: int) -> Callable[[Order], Any]:
        if language == "PROTOBUF":
            kind = _message(version)
            protobuf: Any = ProtobufSerializer(kind, client, {"use.deprecated.format": False})
            return lambda order: protobuf(json_format.ParseDict(dict(order), kind()), context)
        written: Any = (AvroSerializer if language == "AVRO" else JSONSerializer)(*_arguments(version))
        return lambda order: written(dict(order), context)

    def _arguments(version: int) -> tuple[Any, ...]:
        return (client, schemas[version]) if language == "AVRO" else (schemas[version], client)

    return [one(version) for version in range(3)]


def write(client: SchemaRegistryClient, address: str, topic: str, language: str) -> None:
    """Write an order of each of two versions, and fail to write one of the third."""
    first, second, third = _serializers(client, language, sys.argv[6:9])
    producer = Producer({"bootstrap.servers": address})
    for serialize, order in ((first, _ORDERS[0]), (second, _ORDERS[1])):
        producer.produce(topic, value=serialize(order), partition=0)
    assert producer.flush(60) == 0
    try:
        third(_ORDERS[2] if language != "AVRO" else {"amount": 3, "customer": "K."})
    except SchemaRegistryError as error:
        _tell("refused", error.http_status_code)


def read(client: SchemaRegistryClient, address: str, topic: str, language: str) -> None:
    """Read two orders, with whatever schema they have."""
    deserializers: dict[str, Callable[[], Any]] = {
        "AVRO": lambda: AvroDeserializer(client),
        "JSON": lambda: JSONDeserializer(None, schema_registry_client=client),
        "PROTOBUF": lambda: ProtobufDeserializer(_message(1), {"use.deprecated.format": False}, client),
    }
    deserialize = deserializers[language]()
    context = SerializationContext(topic, MessageField.VALUE)
    consumer = Consumer({"bootstrap.servers": address, "group.id": "readers", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    for _ in range(2):
        message = consumer.poll(60)
        assert message is not None
        value = message.value()
        assert isinstance(value, bytes)
        order = deserialize(value, context)
        shown = json_format.MessageToDict(order) if language == "PROTOBUF" else order
        schema_id = int.from_bytes(value[1:5])
        _tell("order", schema_id, json.dumps({name: _number(each) for name, each in shown.items()}))
        client.get_schema(schema_id)
    consumer.close()


def _number(value: object) -> object:
    """Return the number that Protobuf's JSON writes as a string."""
    return int(value) if isinstance(value, str) and value.isdigit() else value


def _tell(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")


def main() -> None:
    step, address, registry, topic, language = sys.argv[1:6]
    with SchemaRegistryClient({"url": registry}) as client:
        (write if step == "write" else read)(client, address, topic, language)


if __name__ == "__main__":
    main()
