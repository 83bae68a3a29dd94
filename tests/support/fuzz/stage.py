"""What a broker holds while it is fed mutated frames: topics, records, groups with members, producers.

Built with ordinary requests, so that a broker in memory and one in a process are set the same way. `Facts` is what
there then is named; a request that names it gets further into the broker than one of made-up names.
"""

from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, NamedTuple

from barnabas.protocol.codec.schema import Request
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages import describe_quorum, offset_commit
from barnabas.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest
from barnabas.protocol.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from barnabas.protocol.primitives import ZERO_UUID
from barnabas.protocol.records.builder import build_batch
from tests.support import requests

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
TRANSACTIONAL_IDS = ("tx-open", "tx-committed", "tx-empty")
GROUPS = ("group-0", "group-1", "group-2", KEPT_GROUP)
TRANSACTION_TIMEOUT_MS = 600_000
SESSION_TIMEOUT_MS = 1_800_000
PROTOCOL_TYPE, PROTOCOL_NAME = "consumer", "range"


class Member(NamedTuple):
    """One member of a stable group of one."""

    group_id: str
    member_id: str
    generation_id: int
    instance_id: str | None


class Producer(NamedTuple):
    """A producer: idempotent, and has written nothing yet, or with a transaction open, or with one behind it."""

    producer_id: int
    producer_epoch: int
    transactional_id: str | None = None


class Pusher(NamedTuple):
    """A client that may push metrics."""

    instance_id: bytes
    subscription_id: int


class Facts(NamedTuple):
    """The existing names, except the next client's topic and group."""

    topic_ids: dict[str, bytes]
    members: list[Member]
    producers: list[Producer]
    cluster_id: str
    directory_id: bytes
    now_ms: int
    pusher: Pusher


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
    producers = [await _producer(ask, None)]
    for transactional_id in TRANSACTIONAL_IDS:
        producers.append(await _producer(ask, prefix + transactional_id))
    await _open_transaction(ask, producers[1], next(iter(topic_ids)), members[0], now_ms)
    await _open_transaction(ask, producers[2], next(iter(topic_ids)), members[0], now_ms)
    producers[2] = await _committed(ask, producers[2])
    cluster_id, directory_id = await _node(ask)
    pusher = await _pusher(ask)
    facts = Facts(topic_ids, members[:-1], producers, cluster_id, directory_id, now_ms, pusher)
    return Stage(facts, kept_topic, kept_topic_id, members[-1])


async def _node(ask: Ask) -> tuple[str, bytes]:
    """The id of the cluster, and of the directory of its only voter."""
    cluster = await ask(DescribeClusterRequest(include_cluster_authorized_operations=False), 2)
    _succeeded(cluster)
    voters = describe_quorum.DescribeQuorumRequestTopicData(
        topic_name="__cluster_metadata",
        partitions=[describe_quorum.DescribeQuorumRequestPartitionData(partition_index=0)],
    )
    quorum = await ask(describe_quorum.DescribeQuorumRequest(topics=[voters]), 2)
    _succeeded(quorum)
    return cluster.cluster_id, quorum.topics[0].partitions[0].current_voters[0].replica_directory_id


async def _pusher(ask: Ask) -> Pusher:
    answer = await ask(GetTelemetrySubscriptionsRequest(client_instance_id=ZERO_UUID), 0)
    _succeeded(answer)
    return Pusher(answer.client_instance_id, answer.subscription_id)


async def _producer(ask: Ask, transactional_id: str | None) -> Producer:
    answer = await ask(requests.init_producer(transactional_id, TRANSACTION_TIMEOUT_MS), 5)
    _succeeded(answer)
    return Producer(answer.producer_id, answer.producer_epoch, transactional_id)


async def _open_transaction(ask: Ask, producer: Producer, topic: str, member: Member, now_ms: int) -> None:
    """A record and an offset that count with the rest of the transaction."""
    batch = build_batch(
        [(None, b"v", (), now_ms)],
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        base_sequence=0,
        transactional=True,
    )
    assert producer.transactional_id is not None
    request = requests.produce(bytes(batch), topic, transactional_id=producer.transactional_id)
    _succeeded((await ask(request, 12)).responses[0].partition_responses[0])
    offsets = requests.txn_commit(producer.transactional_id, producer[:2], member.group_id, 7, topic)
    _succeeded((await ask(offsets, 5)).topics[0].partitions[0])


async def _committed(ask: Ask, producer: Producer) -> Producer:
    """Who the producer is after it committed."""
    assert producer.transactional_id is not None
    answer = await ask(requests.end_txn(producer.transactional_id, producer[:2]), 5)
    _succeeded(answer)
    return Producer(answer.producer_id, answer.producer_epoch, producer.transactional_id)


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
            batch = bytes(build_batch(records, compression=compression))
            answer = await ask(requests.produce({index: batch}, topic), 12)
            _succeeded(answer.responses[0].partition_responses[0])


async def _join(ask: Ask, group_id: str, instance_id: str | None) -> Member:
    request = requests.join_group(
        group_id,
        metadata=b"\0\1\0\0\0\0\0\0\0\0",
        session_timeout_ms=SESSION_TIMEOUT_MS,
        rebalance_timeout_ms=10_000,
        group_instance_id=instance_id,
    )
    answer = await ask(request, 9)
    if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
        request.member_id = answer.member_id
        answer = await ask(request, 9)
    _succeeded(answer)
    member = Member(group_id, answer.member_id, answer.generation_id, instance_id)
    named = {"group_instance_id": instance_id, "protocol_type": PROTOCOL_TYPE, "protocol_name": PROTOCOL_NAME}
    sync = requests.sync_group(group_id, member.generation_id, member.member_id, {member.member_id: b"\0\0"}, **named)
    _succeeded(await ask(sync, 5))
    return member


async def _commit(ask: Ask, member: Member, topics: list[str]) -> None:
    partitions = [
        offset_commit.OffsetCommitRequestPartition(partition_index=index, committed_offset=index, committed_metadata="")
        for index in range(PARTITIONS)
    ]
    request = offset_commit.OffsetCommitRequest(
        group_id=member.group_id,
        generation_id_or_member_epoch=member.generation_id,
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        topics=[offset_commit.OffsetCommitRequestTopic(name=name, partitions=partitions) for name in topics],
    )
    answer = await ask(request, 9)
    for topic in answer.topics:
        for partition in topic.partitions:
            _succeeded(partition)


def _succeeded(answer: Any) -> None:
    assert answer.error_code == ErrorCode.NONE, answer
