"""confluent-kafka's transactional producer: librdkafka's."""

from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import Producer as ConfluentProducer

from tests.transactions.clients.servant import serve
from tests.transactions.model import SESSION_MS


class Producer:
    def __init__(self, address: str, transactional_id: str) -> None:
        self._address = address
        self._producer = ConfluentProducer({"bootstrap.servers": address, "transactional.id": transactional_id})
        self._producer.init_transactions(60)
        self._consumer: Consumer | None = None

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, partition: int, value: bytes) -> None:
        self._produce(topic, partition, value)
        assert self._producer.flush(60) == 0

    def copy(self, group: str, source: str, target: str, count: int) -> None:
        consumer = self._consumer = self._consumer or self._joined(group, source)
        left = count
        while left:
            records = consumer.consume(left, timeout=0.2)
            for record in records:
                partition = record.partition()
                assert partition is not None
                self._produce(target, partition, record.value())
            left -= len(records)
        assert self._producer.flush(60) == 0
        positions = [it for it in consumer.position(consumer.assignment()) if it.offset >= 0]
        self._producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), 60)

    def commit(self) -> None:
        self._producer.commit_transaction(60)

    def abort(self) -> None:
        self._producer.abort_transaction(60)
        self._leave()

    def close(self) -> None:
        self._leave()

    def _produce(self, topic: str, partition: int, value: bytes | None) -> None:
        def delivered(error: Any, _: Message) -> None:
            if error is not None:
                raise KafkaException(error)

        self._producer.produce(topic, value=value, partition=partition, on_delivery=delivered)

    def _joined(self, group: str, source: str) -> Consumer:
        consumer = Consumer(
            {
                "bootstrap.servers": self._address,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "session.timeout.ms": SESSION_MS,
                "heartbeat.interval.ms": 500,
            }
        )
        consumer.subscribe([source])
        return consumer

    def _leave(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None


def _is_fenced(problem: Exception) -> bool:
    codes = (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH)
    return isinstance(problem, KafkaException) and problem.args[0].code() in codes


if __name__ == "__main__":
    serve(Producer, _is_fenced)
