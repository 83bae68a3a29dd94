"""The client that comes after the broken one and wants something ordinary: its topic and its group are its own."""

from collections.abc import Awaitable, Callable

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.protocol.records.builder import build_batch
from tests.support.fuzz.judge import Finding
from tests.support.fuzz.stage import Ask, Stage


class NextClient:
    """Asks one thing after the other and knows what the answer has to be."""

    def __init__(self, ask: Ask, stage: Stage, now_ms: Callable[[], int]) -> None:
        self._ask = ask
        self._stage = stage
        self._now_ms = now_ms
        self._written = 0
        self._turn = 0

    async def ask_something_ordinary(self) -> None:
        """Finding if it is not answered as it must be."""
        questions: tuple[Callable[[], Awaitable[bool]], ...] = (
            self._produce,
            self._fetch,
            self._heartbeat,
            self._metadata,
            self._list_offsets,
        )
        question = questions[self._turn % len(questions)]
        self._turn += 1
        if not await question():
            raise Finding(f"the next client is harmed: {question.__name__}")

    def _value(self, offset: int) -> bytes:
        return b"value-%d" % offset

    async def _produce(self) -> bool:
        batch = bytes(build_batch([(None, self._value(self._written), (), self._now_ms())]))
        data = TopicProduceData(
            name=self._stage.kept_topic, partition_data=[PartitionProduceData(index=0, records=batch)]
        )
        answer = await self._ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data]), 12)
        written = answer.responses[0].partition_responses[0]
        self._written += 1
        return bool(written.error_code == ErrorCode.NONE and written.base_offset == self._written - 1)

    async def _fetch(self) -> bool:
        partition = FetchPartition(partition=0, fetch_offset=self._written - 1, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=1,
            max_bytes=1 << 20,
            topics=[FetchTopic(topic=self._stage.kept_topic, partitions=[partition])],
        )
        fetched = (await self._ask(request, 12)).responses[0].partitions[0]
        return fetched.error_code == ErrorCode.NONE and self._value(self._written - 1) in bytes(fetched.records)

    async def _heartbeat(self) -> bool:
        member = self._stage.kept_member
        request = HeartbeatRequest(
            group_id=member.group_id, generation_id=member.generation_id, member_id=member.member_id
        )
        return bool((await self._ask(request, 4)).error_code == ErrorCode.NONE)

    async def _metadata(self) -> bool:
        answer = await self._ask(MetadataRequest(topics=[MetadataRequestTopic(name=self._stage.kept_topic)]), 12)
        (topic,) = answer.topics
        return bool(topic.error_code == ErrorCode.NONE and topic.topic_id == self._stage.kept_topic_id)

    async def _list_offsets(self) -> bool:
        partition = ListOffsetsPartition(partition_index=0, timestamp=-1)
        request = ListOffsetsRequest(
            replica_id=-1, topics=[ListOffsetsTopic(name=self._stage.kept_topic, partitions=[partition])]
        )
        answer = await self._ask(request, 7)
        return bool(answer.topics[0].partitions[0].offset == self._written)
