"""aiokafka: a client written in Python for asyncio; the oldest versions on the wire among the Python clients."""

import asyncio
from collections.abc import Callable, Sequence

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from tests.compat.model import PARTITIONS, WINDOW, Message, Stored, stored_of


class Aiokafka:
    name = "aiokafka"
    writes_bytes = True
    writes_null_headers = True

    def write(self, address: str, topic: str, messages: Sequence[Message], compression: str) -> list[int]:
        return asyncio.run(_write(address, topic, messages, None if compression == "none" else compression))

    def read(self, address: str, topic: str) -> list[Stored]:
        return asyncio.run(_read(address, topic))

    def read_in_group(self, address: str, topic: str, group: str, count: int) -> list[Stored]:
        return asyncio.run(_read_in_group(address, topic, group, count))

    def stream(self, address: str, topic: str, count: int, on_ack: Callable[[int, int], None]) -> None:
        asyncio.run(_stream(address, topic, count, on_ack))


async def _write(address: str, topic: str, messages: Sequence[Message], compression: str | None) -> list[int]:
    async with AIOKafkaProducer(bootstrap_servers=address, compression_type=compression) as producer:
        futures = [
            await producer.send(
                topic,
                value=message.value,
                key=message.key,
                headers=list(message.headers),
                partition=message.partition,
                timestamp_ms=message.timestamp,
            )
            for message in messages
        ]
        return [metadata.offset for metadata in await asyncio.gather(*futures)]


async def _read(address: str, topic: str) -> list[Stored]:
    async with AIOKafkaConsumer(bootstrap_servers=address) as consumer:
        partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        consumer.assign(partitions)
        await consumer.seek_to_beginning()
        ends = await consumer.end_offsets(partitions)
        found: list[Stored] = []
        while [1 for partition in partitions if await consumer.position(partition) < ends[partition]]:
            found += stored_of(await consumer.getmany(timeout_ms=1000))
        return found


async def _read_in_group(address: str, topic: str, group: str, count: int) -> list[Stored]:
    async with AIOKafkaConsumer(
        topic, bootstrap_servers=address, group_id=group, auto_offset_reset="earliest"
    ) as consumer:
        found: list[Stored] = []
        while len(found) < count:
            found += stored_of(await consumer.getmany(timeout_ms=1000))
        await consumer.commit()
        return found


async def _stream(address: str, topic: str, count: int, on_ack: Callable[[int, int], None]) -> None:
    free = asyncio.Semaphore(WINDOW)

    async def send(number: int) -> None:
        metadata = await (await producer.send(topic, value=b"%d" % number))
        on_ack(number, metadata.offset)
        free.release()

    async with AIOKafkaProducer(bootstrap_servers=address, enable_idempotence=True) as producer:
        tasks = []
        for number in range(count):
            await free.acquire()
            tasks.append(asyncio.create_task(send(number)))
        await asyncio.gather(*tasks)
