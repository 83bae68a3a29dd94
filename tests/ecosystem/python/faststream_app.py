"""faststream_app ADDRESS SOURCE TARGET GROUP DIRECTORY: copy a topic into another with FastStream."""

from __future__ import annotations

import asyncio
import sys

from faststream import AckPolicy, FastStream
from faststream.kafka import KafkaBroker, KafkaMessage


def application(address: str, source: str, target: str, group: str) -> FastStream:
    broker = KafkaBroker(address)

    @broker.subscriber(
        source,
        group_id=group,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        ack_policy=AckPolicy.NACK_ON_ERROR,
    )
    @broker.publisher(target)
    async def copy(record: KafkaMessage) -> bytes:
        return record.body

    return FastStream(broker)


if __name__ == "__main__":
    asyncio.run(application(*sys.argv[1:5]).run())
