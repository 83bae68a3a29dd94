"""aiokafka_copier ADDRESS SOURCE TARGET GROUP: copy a topic into another as a member of a group, until SIGTERM.

What was read is committed after what was written is acknowledged: each record is copied at least once.
"""

from __future__ import annotations

import asyncio
import signal
import sys

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import CommitFailedError, IllegalGenerationError, UnknownMemberIdError

LOST_ITS_PLACE = (CommitFailedError, IllegalGenerationError, UnknownMemberIdError)


async def copy(address: str, source: str, target: str, group: str) -> None:
    asked_to_stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asked_to_stop.set)
    consumer = AIOKafkaConsumer(
        source,
        bootstrap_servers=address,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=6000,  # the shortest that a broker allows: a member that was killed is missed so long
        heartbeat_interval_ms=500,
    )
    producer = AIOKafkaProducer(bootstrap_servers=address, enable_idempotence=True)
    async with producer, consumer:
        while not asked_to_stop.is_set():
            polled = await consumer.getmany(timeout_ms=200, max_records=20)
            records = [record for batch in polled.values() for record in batch]
            await asyncio.gather(*[await producer.send(target, key=it.key, value=it.value) for it in records])
            try:
                await consumer.commit()
            except LOST_ITS_PLACE:
                continue  # somebody else reads these again


if __name__ == "__main__":
    asyncio.run(copy(*sys.argv[1:]))
