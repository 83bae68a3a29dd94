"""aiokafka's transactional producer, on an event loop in a thread of its own, so that it lives between the steps."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import InvalidProducerEpoch, ProducerFenced

from tests.transactions.clients.servant import serve
from tests.transactions.model import SESSION_MS

LOOP = asyncio.new_event_loop()


def _run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run_coroutine_threadsafe(coroutine, LOOP).result()


class Producer:
    def __init__(self, address: str, transactional_id: str) -> None:
        self._address = address
        self._consumer: Any = None
        _run(self._start(transactional_id))

    def begin(self) -> None:
        _run(self._producer.begin_transaction())

    def send(self, topic: str, partition: int, value: bytes) -> None:
        _run(self._producer.send_and_wait(topic, value, partition=partition))

    def copy(self, group: str, source: str, target: str, count: int) -> None:
        _run(self._copy(group, source, target, count))

    def commit(self) -> None:
        _run(self._producer.commit_transaction())

    def abort(self) -> None:
        _run(self._producer.abort_transaction())
        self._leave()

    def close(self) -> None:
        self._leave()
        _run(self._producer.stop())

    async def _start(self, transactional_id: str) -> None:
        self._producer = AIOKafkaProducer(bootstrap_servers=self._address, transactional_id=transactional_id)
        await self._producer.start()

    async def _copy(self, group: str, source: str, target: str, count: int) -> None:
        if self._consumer is None:
            self._consumer = AIOKafkaConsumer(
                source,
                bootstrap_servers=self._address,
                group_id=group,
                auto_offset_reset="earliest",
                enable_auto_commit=False,
                isolation_level="read_committed",
                session_timeout_ms=SESSION_MS,
                heartbeat_interval_ms=500,
            )
            await self._consumer.start()
        left = count
        while left:
            polled = await self._consumer.getmany(timeout_ms=1000, max_records=left)
            records = [record for batch in polled.values() for record in batch]
            for record in records:
                await self._producer.send(target, record.value, partition=record.partition)
            left -= len(records)
        offsets = {partition: await self._consumer.position(partition) for partition in self._consumer.assignment()}
        await self._producer.send_offsets_to_transaction(offsets, group)

    def _leave(self) -> None:
        if self._consumer is not None:
            _run(self._consumer.stop())
            self._consumer = None


if __name__ == "__main__":
    threading.Thread(target=LOOP.run_forever, daemon=True).start()
    serve(Producer, lambda problem: isinstance(problem, ProducerFenced | InvalidProducerEpoch))
