"""A broker on a small disk in memory, the clients that fill it, and their answers."""

from __future__ import annotations

from typing import Any

from barnabas.protocol.codec.schema import Request
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.protocol.records.batch import iter_batches
from barnabas.protocol.records.record import iter_records
from tests.support.files.memory_files import MemoryFiles
from tests.support.requests import BY_NAME, create_topic, produce
from tests.support.worlds.broker import BrokerWorld, settle

CAPACITY = 4 << 20
VALUE = b"v" * 80_000


class FullDisk:
    """The broker, which runs."""

    def __init__(self, settings: dict[str, str] | None = None, files: MemoryFiles | None = None) -> None:
        self.files = files or MemoryFiles(0, capacity=CAPACITY)
        small = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
        self.world = BrokerWorld({"log.segment.bytes": str(1 << 20), **small, **(settings or {})}, self.files)
        self.peer = self.world.connect()
        self.sequences: dict[str, int] = {}
        self.acknowledged: dict[str, list[bytes]] = {}

    async def start(self) -> FullDisk:
        await self.world.broker.start()
        return self

    @property
    def is_full(self) -> bool:
        return bool(self.world.services.disk_space.full_reasons)

    async def ask(self, request: Request, version: int | None = None) -> Any:
        self.peer.ask(request, version)
        await settle()
        return self.peer.answer()

    async def advance(self, delay_ms: float) -> None:
        """In steps, each until pending work has ended."""
        step_ms = max(100, delay_ms / 40)
        while delay_ms > 0:
            await self.world.advance(min(delay_ms, step_ms))
            delay_ms -= step_ms

    async def create(self, topic: str) -> ErrorCode:
        answer = await self.ask(create_topic(topic))
        return ErrorCode(answer.topics[0].error_code)

    async def delete(self, topic: str) -> ErrorCode:
        answer = await self.ask(DeleteTopicsRequest(topic_names=[topic], timeout_ms=1000), 5)
        return ErrorCode(answer.responses[0].error_code)

    async def delete_records(self, topic: str, offset: int = -1) -> ErrorCode:
        wanted = DeleteRecordsTopic(name=topic, partitions=[DeleteRecordsPartition(partition_index=0, offset=offset)])
        answer = await self.ask(DeleteRecordsRequest(topics=[wanted], timeout_ms=1000))
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    async def produce(self, topic: str, value: bytes = VALUE) -> ErrorCode:
        """One record of an idempotent producer, which repeats what was refused under the same number."""
        sequence = self.sequences.setdefault(topic, 0)
        value = b"%d " % sequence + value
        batch = memoryview(bytearray(self.world.batch(value, producer=(77, 0, sequence))))
        answer = await self.ask(produce(batch, topic), BY_NAME)
        code = ErrorCode(answer.responses[0].partition_responses[0].error_code)
        if code is ErrorCode.NONE:
            self.sequences[topic] += 1
            self.acknowledged.setdefault(topic, []).append(value)
        return code

    async def fill(self, topic: str) -> ErrorCode:
        """Produce until that is refused: how."""
        while (code := await self.produce(topic)) is ErrorCode.NONE:
            await self.advance(50)
        return code

    def read(self, topic: str, offset: int = 0) -> list[bytes | None]:
        log = self.world.services.partitions.get(topic, 0)
        found = []
        while offset < log.high_watermark:
            data = memoryview(log.read(offset, 1 << 24, committed=False, force_first_batch=True).read_all())
            for position, header in iter_batches(data):
                batch = data[position : position + header.size_in_bytes]
                found += [record.value for record in iter_records(batch)]
                offset = header.next_offset
        return found
