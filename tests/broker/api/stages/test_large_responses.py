"""Answers of thousands of elements: so many are encoded in a turn of the event loop, and no more."""

import asyncio
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest

from barnabas.broker.api.stages.large_responses import ENCODING
from barnabas.broker.api.stages.response_size import ELEMENTS_MAX, is_large
from barnabas.protocol.codec.compile import Codec
from barnabas.protocol.codec.schema import Request, Response, Struct
from barnabas.protocol.messages import (
    consumer_group_describe,
    describe_groups,
    describe_producers,
    describe_topic_partitions,
    describe_transactions,
)
from tests.support.worlds.broker import BrokerWorld, until

_MANY = 5_000
_NAMES = [f"name-{number}" for number in range(_MANY)]
_TOPICS = [describe_topic_partitions.TopicRequest(name=name) for name in _NAMES]
_PARTITIONS = describe_producers.TopicRequest(name="t", partition_indexes=list(range(_MANY)))

REQUESTS = [
    describe_groups.DescribeGroupsRequest(groups=_NAMES, include_authorized_operations=False),
    consumer_group_describe.ConsumerGroupDescribeRequest(group_ids=_NAMES, include_authorized_operations=False),
    describe_topic_partitions.DescribeTopicPartitionsRequest(topics=_TOPICS, response_partition_limit=10, cursor=None),
    describe_producers.DescribeProducersRequest(topics=[_PARTITIONS]),
    describe_transactions.DescribeTransactionsRequest(transactional_ids=_NAMES),
]


class Watched:
    """What codecs encode, by the turn of the loop."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps: Counter[int] = Counter()
        self.are_large_at_once = 0
        self._turn = 0
        self._loop = asyncio.get_running_loop()
        in_steps, at_once = Codec.encode_in_steps, Codec.encode_into

        def watched(codec: Codec[Struct], message: Struct, out: bytearray) -> Generator[None, None, None]:
            for _ in in_steps(codec, message, out):
                self.steps[self._turn] += 1
                yield

        def watched_at_once(codec: Codec[Struct], message: Struct, out: bytearray) -> None:
            self.are_large_at_once += isinstance(message, Response) and is_large(message)
            at_once(codec, message, out)

        monkeypatch.setattr(Codec, "encode_in_steps", watched)
        monkeypatch.setattr(Codec, "encode_into", watched_at_once)
        self._tick()

    def _tick(self) -> None:
        self._turn += 1
        self._ticking = self._loop.call_soon(self._tick)

    def stop(self) -> None:
        self._ticking.cancel()


def _count(answer: Any) -> int:
    """The ids, or partitions, that were described."""
    if isinstance(answer, describe_producers.DescribeProducersResponse):
        return len(answer.topics[0].partitions)
    (described,) = (
        getattr(answer, name) for name in ("groups", "topics", "transaction_states") if hasattr(answer, name)
    )
    return len(described)


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda each: type(each).__name__)
async def test_a_turn_of_the_loop_encodes_so_many_and_no_more(
    request_: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = BrokerWorld()
    await world.broker.start()
    watched = Watched(monkeypatch)
    peer = world.asking(request_)
    await peer.until_answered()
    answer = peer.answer()
    watched.stop()
    assert _count(answer) == _MANY
    assert sum(watched.steps.values()) >= _MANY
    assert max(watched.steps.values()) <= 2 * ENCODING.steps_max, "a slice when it begins, and one in its turn"
    assert not watched.are_large_at_once


async def test_responses_behind_a_large_one_follow_it() -> None:
    world = BrokerWorld()
    await world.broker.start()
    peer = world.connect()
    peer.ask(REQUESTS[-1], correlation_id=1)
    peer.ask(describe_transactions.DescribeTransactionsRequest(transactional_ids=["one"]), correlation_id=2)
    await peer.until_answered()
    assert [_count(answer) for answer in peer.answers()] == [_MANY, 1]


async def test_a_client_that_leaves_takes_its_large_answer_with_it() -> None:
    world = BrokerWorld()
    await world.broker.start()
    peer = world.asking(REQUESTS[-1])
    peer.transport.close()
    await until(lambda: world.services.request_scheduler.are_over)


def test_elements_are_counted_in_arrays_within_arrays_and_not_beyond_the_bound() -> None:
    topics = [describe_producers.TopicResponse(name="t", partitions=[]) for _ in range(ELEMENTS_MAX)]
    assert not is_large(describe_producers.DescribeProducersResponse(topics=topics))
    topics[0].partitions.append(
        describe_producers.PartitionResponse(partition_index=0, error_code=0, active_producers=[])
    )
    assert is_large(describe_producers.DescribeProducersResponse(topics=topics))
