"""A member of a share group that outlives its broker: it accepts a record, rejects one, and releases one first.

It knows which acknowledgements were answered, and checks at each delivery that no such record comes again. The rejected
record is the last, so that nothing else happens while its dead letter is written.
"""

from typing import Any

from barnabas.protocol.codec.schema import Request
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages import share_acknowledge, share_fetch
from barnabas.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig
from barnabas.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from barnabas.protocol.records.builder import build_batch
from tests.support.stories.transaction_program import Mortal

JOBS, DEAD_LETTERS, GROUP, MEMBER = "jobs", "dlq.jobs", "workers", "worker"
ACCEPTED, REJECTED, RELEASED = range(3)
"""The offsets, by what the member does with them first."""
_ACCEPT, _RELEASE, _REJECT = 1, 2, 3
_GROUP_RESOURCE, _SET = 32, 0
_SETTINGS = {"share.auto.offset.reset": "earliest", "errors.deadletterqueue.topic.name": DEAD_LETTERS}
_PAUSE_MS = 10
E = ErrorCode
_AGAIN = {E.COORDINATOR_LOAD_IN_PROGRESS, E.COORDINATOR_NOT_AVAILABLE, E.NOT_COORDINATOR, E.NOT_LEADER_OR_FOLLOWER}
_LOST_SESSION = {E.SHARE_SESSION_NOT_FOUND, E.INVALID_SHARE_SESSION_EPOCH}


class ShareProgram:
    """The member, and what it knows of the three records."""

    topics = (
        CreatableTopic(name=JOBS, num_partitions=1, replication_factor=1, assignments=[], configs=[]),
        CreatableTopic(
            name=DEAD_LETTERS,
            num_partitions=1,
            replication_factor=1,
            assignments=[],
            configs=[CreatableTopicConfig(name="errors.deadletterqueue.group.enable", value="true")],
        ),
    )

    def __init__(self, broker: Mortal) -> None:
        self._broker = broker
        self._topic_id = b""
        self._epoch = 0
        self._was_released = False
        self.finished: set[int] = set()
        """Offsets whose acceptance or rejection was answered."""

    async def live(self) -> None:
        """Write the records, join, and process them until the group has no lag."""
        await self._until_answered(_settings(), 1)
        await self._until_taken(_jobs(self._broker.now_ms()), 11, _code_of_produce)
        topics = [MetadataRequestTopic(name=JOBS)]
        described = await self._until_answered(MetadataRequest(topics=topics, allow_auto_topic_creation=False), 12)
        self._topic_id = described.topics[0].topic_id
        joining = ShareGroupHeartbeatRequest(
            group_id=GROUP, member_id=MEMBER, member_epoch=0, subscribed_topic_names=[JOBS]
        )
        await self._until_taken(joining, 1, lambda answer: answer.error_code)
        while not await self._is_finished():
            try:
                await self._process()
            except ConnectionError:
                await self._broker.boot()
                self._epoch = 0
            await self._broker.advance(_PAUSE_MS)

    async def _process(self) -> None:
        """Fetch, and acknowledge what was acquired."""
        for offset in sorted(await self._acquired(), key=lambda offset: offset == REJECTED):
            assert offset not in self.finished, f"offset {offset} is finished, and came again"
            kind = _REJECT if offset == REJECTED else _ACCEPT
            if offset == RELEASED and not self._was_released:
                kind = _RELEASE
            if not await self._acknowledge(offset, kind):
                return
            if kind == _RELEASE:
                self._was_released = True
            else:
                self.finished.add(offset)

    async def _acquired(self) -> list[int]:
        partition = share_fetch.FetchPartition(partition_index=0, acknowledgement_batches=[])
        request = share_fetch.ShareFetchRequest(
            group_id=GROUP,
            member_id=MEMBER,
            share_session_epoch=self._epoch,
            max_wait_ms=0,
            min_bytes=1,
            max_records=10,
            batch_size=10,
            topics=[share_fetch.FetchTopic(topic_id=self._topic_id, partitions=[partition])],
            forgotten_topics_data=[],
        )
        answer = await self._broker.ask(request, 2)
        if not self._is_in_session(answer):
            return []
        rows = [row for topic in answer.responses for row in topic.partitions]
        assert all(row.error_code in (E.NONE, *_AGAIN) for row in rows), rows
        return [
            offset
            for row in rows
            for each in row.acquired_records
            for offset in range(each.first_offset, each.last_offset + 1)
        ]

    async def _acknowledge(self, offset: int, kind: int) -> bool:
        """Acknowledge a record; whether that is stored."""
        batch = share_acknowledge.AcknowledgementBatch(
            first_offset=offset, last_offset=offset, acknowledge_types=[kind]
        )
        partition = share_acknowledge.AcknowledgePartition(partition_index=0, acknowledgement_batches=[batch])
        topics = [share_acknowledge.AcknowledgeTopic(topic_id=self._topic_id, partitions=[partition])]
        request = share_acknowledge.ShareAcknowledgeRequest(
            group_id=GROUP, member_id=MEMBER, share_session_epoch=self._epoch, topics=topics
        )
        answer = await self._broker.ask(request, 2)
        if not self._is_in_session(answer):
            return False
        (row,) = answer.responses[0].partitions
        assert row.error_code == E.NONE, row
        return True

    def _is_in_session(self, answer: Any) -> bool:
        if answer.error_code in _LOST_SESSION:
            self._epoch = 0
            return False
        assert answer.error_code == E.NONE, answer
        self._epoch += 1
        return True

    async def _is_finished(self) -> bool:
        topics = [DescribeShareGroupOffsetsRequestTopic(topic_name=JOBS, partitions=[0])]
        groups = [DescribeShareGroupOffsetsRequestGroup(group_id=GROUP, topics=topics)]
        answer = await self._until_answered(DescribeShareGroupOffsetsRequest(groups=groups), 1)
        (row,) = answer.groups[0].topics[0].partitions
        return bool(row.error_code == E.NONE and row.lag == 0)

    async def _until_answered(self, request: Request, version: int) -> Any:
        while True:
            try:
                return await self._broker.ask(request, version)
            except ConnectionError:
                await self._broker.boot()
                self._epoch = 0

    async def _until_taken(self, request: Request, version: int, code_of: Any) -> None:
        while (code := code_of(await self._until_answered(request, version))) in _AGAIN:
            await self._broker.advance(_PAUSE_MS)
        assert code in (E.NONE, E.DUPLICATE_SEQUENCE_NUMBER), ErrorCode(code)


_VALUES = (b"accepted", b"rejected", b"released")


def _jobs(now_ms: int) -> ProduceRequest:
    """The records, of an idempotent producer: they are there once."""
    records = [(None, value, (), now_ms) for value in _VALUES]
    batch = build_batch(records, producer_id=78, producer_epoch=0, base_sequence=0)
    data = PartitionProduceData(index=0, records=bytes(batch))
    topics = [TopicProduceData(name=JOBS, partition_data=[data])]
    return ProduceRequest(transactional_id=None, acks=-1, timeout_ms=1000, topic_data=topics)


def _code_of_produce(answer: Any) -> int:
    code: int = answer.responses[0].partition_responses[0].error_code
    return code


def _settings() -> IncrementalAlterConfigsRequest:
    configs = [AlterableConfig(name=name, config_operation=_SET, value=value) for name, value in _SETTINGS.items()]
    resource = AlterConfigsResource(resource_type=_GROUP_RESOURCE, resource_name=GROUP, configs=configs)
    return IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
