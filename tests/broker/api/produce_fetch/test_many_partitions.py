"""What decodes very many partitions in slices makes the same of a request as the decoder by hand."""

from collections.abc import Callable
from typing import Any

import pytest

from barnabas.broker.api.produce_fetch import many_partitions
from barnabas.protocol.hot import fetch, produce
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic, ReplicaState
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.protocol.registry import ApiKey, request_codec
from barnabas.storage.steps import finish

COUNT = 250


def _produce(version: int) -> ProduceRequest:
    data = [PartitionProduceData(index=each, records=b"r" * each if each % 2 else None) for each in range(COUNT)]
    topics = [TopicProduceData(name=each, topic_id=each.encode() * 16, partition_data=data) for each in "ab"]
    return ProduceRequest(transactional_id="x", acks=-1, timeout_ms=7, topic_data=topics)


def _fetch(version: int) -> FetchRequest:
    epochs: dict[str, Any] = {"current_leader_epoch": 3} if version >= 9 else {}
    epochs |= {"last_fetched_epoch": 4} if version >= 12 else {}
    asked = [
        FetchPartition(partition=each, fetch_offset=each, partition_max_bytes=9, **epochs) for each in range(COUNT)
    ]
    gone = [ForgottenTopic(topic=str(each), topic_id=bytes(16), partitions=[each]) for each in range(COUNT)]
    has_sessions: dict[str, Any] = (
        {"session_id": 5, "session_epoch": 6, "forgotten_topics_data": gone} if version >= 7 else {}
    )
    replica: dict[str, Any] = {"replica_state": ReplicaState(replica_id=8)} if version >= 15 else {"replica_id": 8}
    topics = [FetchTopic(topic=each, topic_id=each.encode() * 16, partitions=asked) for each in "ab"]
    rack: dict[str, Any] = {"rack_id": "r"} if version >= 11 else {}
    return FetchRequest(max_wait_ms=1, min_bytes=2, topics=topics, **has_sessions, **replica, **rack)


@pytest.mark.parametrize(
    ("key", "made", "in_steps", "by_hand"),
    [
        (ApiKey.PRODUCE, _produce, many_partitions.produce_request, produce.decode_request),
        (ApiKey.FETCH, _fetch, many_partitions.fetch_request, fetch.decode_request),
    ],
)
def test_both_decoders_make_the_same(
    key: ApiKey, made: Callable[[int], Any], in_steps: Callable[..., Any], by_hand: Callable[..., Any]
) -> None:
    for version in range(key.min_version, key.max_version + 1):
        body = memoryview(request_codec(key, version).encode(made(version)))
        assert finish(in_steps(body, version)) == by_hand(body, 0, version)
