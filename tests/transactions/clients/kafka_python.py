"""kafka-python's transactional producer."""

from typing import Any

from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import InvalidProducerEpochError, ProducerFencedError
from kafka.structs import OffsetAndMetadata

from tests.transactions.clients.servant import serve
from tests.transactions.model import SESSION_MS


class Producer:
    def __init__(self, address: str, transactional_id: str) -> None:
        self._address = address
        self._producer = KafkaProducer(bootstrap_servers=address, transactional_id=transactional_id)
        self._producer.init_transactions()
        self._consumer: Any = None

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, partition: int, value: bytes) -> None:
        self._producer.send(topic, value, partition=partition).get(timeout=60)

    def copy(self, group: str, source: str, target: str, count: int) -> None:
        consumer = self._consumer = self._consumer or self._joined(group, source)
        left = count
        while left:
            polled = consumer.poll(timeout_ms=1000, max_records=left)
            records = [record for batch in polled.values() for record in batch]
            for future in [self._producer.send(target, it.value, partition=it.partition) for it in records]:
                future.get(timeout=60)
            left -= len(records)
        positions = {partition: consumer.position(partition) for partition in consumer.assignment()}
        offsets = {partition: OffsetAndMetadata(offset, "", -1) for partition, offset in positions.items()}
        self._producer.send_offsets_to_transaction(offsets, consumer.group_metadata())

    def commit(self) -> None:
        self._producer.commit_transaction()

    def abort(self) -> None:
        self._producer.abort_transaction()
        self._leave()

    def close(self) -> None:
        self._leave()
        self._producer.close()

    def _joined(self, group: str, source: str) -> Any:
        return KafkaConsumer(
            source,
            bootstrap_servers=self._address,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=500,
        )

    def _leave(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None


if __name__ == "__main__":
    serve(Producer, lambda problem: isinstance(problem, ProducerFencedError | InvalidProducerEpochError))
