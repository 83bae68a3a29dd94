"""aiokafka_transactions ADDRESS SOURCE TARGET GROUP DIRECTORY: copy a topic, a transaction for each poll."""

from __future__ import annotations

import asyncio
import sys

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaError


async def copy(address: str, source: str, target: str, group: str) -> None:
    consumer = AIOKafkaConsumer(
        source,
        bootstrap_servers=address,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        isolation_level="read_committed",
    )
    producer = AIOKafkaProducer(bootstrap_servers=address, transactional_id=group)
    async with producer, consumer:
        while True:
            polled = await consumer.getmany(timeout_ms=200, max_records=20)
            if not polled:
                continue
            try:
                async with producer.transaction():
                    for record in (record for batch in polled.values() for record in batch):
                        await producer.send(target, key=record.key, value=record.value)
                    offsets = {partition: batch[-1].offset + 1 for partition, batch in polled.items()}
                    await producer.send_offsets_to_transaction(offsets, group)
            except KafkaError:
                await consumer.seek_to_committed()  # the transaction was aborted: read its records again


if __name__ == "__main__":
    asyncio.run(copy(*sys.argv[1:5]))
