"""An Avro record to a topic and back, its schema in the registry: docs/stack.md."""

from confluent_kafka import Consumer, Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

BROKER, REGISTRY, TOPIC = "127.0.0.1:9092", "http://127.0.0.1:8080/apis/ccompat/v7", "orders"
SCHEMA = '{"type": "record", "name": "Order", "fields": [{"name": "amount", "type": "long"}]}'


def main() -> None:
    registry, context = SchemaRegistryClient({"url": REGISTRY}), SerializationContext(TOPIC, MessageField.VALUE)
    producer = Producer({"bootstrap.servers": BROKER})
    producer.produce(TOPIC, key="castle", value=AvroSerializer(registry, SCHEMA)({"amount": 1}, context))
    assert producer.flush(30) == 0

    consumer = Consumer({"bootstrap.servers": BROKER, "group.id": "readers", "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    message = consumer.poll(30)
    assert message is not None
    print(message.key(), AvroDeserializer(registry)(message.value(), context), registry.get_subjects())
    consumer.close()


if __name__ == "__main__":
    main()
