"""What a broker holds while it is fed mutated frames: topics, records, groups with members, producers.

Built with ordinary requests, so that a broker in memory and one in a process are set the same way. `Facts` is what
there then is to be named; a request that names it gets further into the broker than one of made-up names.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, NamedTuple

from protocol.errors import ErrorCode
from protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from protocol.records.builder import build_batch
from protocol.schema import Request

Ask = Callable[[Request, int], Awaitable[Any]]
"""(request, version) -> response"""

TOPICS: dict[str, dict[str, str]] = {
    "plain": {},
    "compacted": {"cleanup.policy": "compact"},
    "stamped": {"message.timestamp.type": "LogAppendTime"},
    "recompressed": {"compression.type": "zstd"},
    "synced": {"flush.messages": "1"},
    "small": {"max.message.bytes": "200", "segment.bytes": "1048576"},
}
PARTITIONS = 2
KEPT_TOPIC = "kept"
KEPT_GROUP = "kept-group"
GROUPS = ("group-0", "group-1", "group-2", KEPT_GROUP)
SESSION_TIMEOUT_MS = 1_800_000
PROTOCOL_TYPE, PROTOCOL_NAME = "consumer", "range"


class Member(NamedTuple):
    """One member of a stable group of one."""

    group_id: str
    member_id: str
    generation_id: int
    instance_id: str | None


class Producer(NamedTuple):
    """An idempotent producer that has written nothing yet."""

    producer_id: int
    producer_epoch: int


class Facts(NamedTuple):
    """What there is, the kept topic and group excepted: those are the next client's."""

    topic_ids: dict[str, bytes]
    members: list[Member]
    producers: list[Producer]
    now_ms: int


class Stage(NamedTuple):
    """Facts for the frames, and what belongs to the next client."""

    facts: Facts
    kept_topic: str
    kept_topic_id: bytes
    kept_member: Member


async def set_stage(ask: Ask, now_ms: int, rng: Random, prefix: str = "") -> Stage:
    """Make everything there is, all names beginning with `prefix`; every request must succeed."""
    topic_ids = await _create_topics(ask, prefix)
    kept_topic = prefix + KEPT_TOPIC
    kept_topic_id = topic_ids.pop(kept_topic)
    for name in topic_ids:
        await _fill(ask, name, now_ms, rng)
    members = [
        await _join(ask, prefix + group, prefix + "static" if index == 1 else None)
        for index, group in enumerate(GROUPS)
    ]
    for member in (*members, Member(prefix + "simple", "", -1, None)):
        await _commit(ask, member, list(topic_ids))
    producers = []
    for _ in range(3):
        answer = await ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000), 4)
        producers.append(Producer(answer.producer_id, answer.producer_epoch))
    return Stage(Facts(topic_ids, members[:-1], producers, now_ms), kept_topic, kept_topic_id, members[-1])


async def _create_topics(ask: Ask, prefix: str) -> dict[str, bytes]:
    wanted = [
        CreatableTopic(
            name=prefix + name,
            num_partitions=PARTITIONS,
            replication_factor=1,
            assignments=[],
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
        )
        for name, configs in {**TOPICS, KEPT_TOPIC: {}}.items()
    ]
    answer = await ask(CreateTopicsRequest(topics=wanted), 7)
    for topic in answer.topics:
        _succeeded(topic)
    return {topic.name: topic.topic_id for topic in answer.topics}


async def _fill(ask: Ask, topic: str, now_ms: int, rng: Random) -> None:
    """A few batches in each partition, in every codec."""
    for index in range(PARTITIONS):
        for compression in range(5):
            records = [(b"key", rng.randbytes(10), [("h", None)], now_ms + compression)]
            data = PartitionProduceData(index=index, records=bytes(build_batch(records, compression=compression)))
            request = ProduceRequest(
                acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=[data])]
            )
            answer = await ask(request, 12)
            _succeeded(answer.responses[0].partition_responses[0])


async def _join(ask: Ask, group_id: str, instance_id: str | None) -> Member:
    request = JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=SESSION_TIMEOUT_MS,
        rebalance_timeout_ms=10_000,
        member_id="",
        group_instance_id=instance_id,
        protocol_type=PROTOCOL_TYPE,
        protocols=[JoinGroupRequestProtocol(name=PROTOCOL_NAME, metadata=b"\0\1\0\0\0\0\0\0\0\0")],
    )
    answer = await ask(request, 9)
    if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
        request.member_id = answer.member_id
        answer = await ask(request, 9)
    _succeeded(answer)
    member = Member(group_id, answer.member_id, answer.generation_id, instance_id)
    sync = SyncGroupRequest(
        group_id=group_id,
        generation_id=member.generation_id,
        member_id=member.member_id,
        group_instance_id=instance_id,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=PROTOCOL_NAME,
        assignments=[SyncGroupRequestAssignment(member_id=member.member_id, assignment=b"\0\0")],
    )
    _succeeded(await ask(sync, 5))
    return member


async def _commit(ask: Ask, member: Member, topics: list[str]) -> None:
    partitions = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=index, committed_metadata="")
        for index in range(PARTITIONS)
    ]
    request = OffsetCommitRequest(
        group_id=member.group_id,
        generation_id_or_member_epoch=member.generation_id,
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        topics=[OffsetCommitRequestTopic(name=name, partitions=partitions) for name in topics],
    )
    answer = await ask(request, 9)
    for topic in answer.topics:
        for partition in topic.partitions:
            _succeeded(partition)


def _succeeded(answer: Any) -> None:
    assert answer.error_code == ErrorCode.NONE, answer
