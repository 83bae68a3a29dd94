"""Look-ups that take long, mostly of offsets: in slices, between which everybody else is served."""

import asyncio
import itertools

import pytest

from barnabas.broker.runtime.scheduler import SLICE_MS, UNDER_WAY_MAX
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from barnabas.protocol.messages.list_offsets import ListOffsetsPartitionResponse, ListOffsetsRequest
from barnabas.protocol.records.batch import CREATE_TIME, set_max_timestamp
from barnabas.protocol.records.builder import build_batch
from barnabas.protocol.records.compression import ZSTD
from tests.support import requests
from tests.support.worlds.broker import ANSWER_TIMEOUT_S, BrokerWorld, Peer, settle, turn, until

LATEST, MAX_TIMESTAMP = -1, -3
LOOKS_A_SLICE = 20


@pytest.fixture
async def world() -> BrokerWorld:
    """A broker with a topic `t`, whose stopwatch goes on whenever somebody looks at it."""
    looks = itertools.count()
    return BrokerWorld(stopwatch=lambda: next(looks) * SLICE_MS / 1000 / LOOKS_A_SLICE, topics={"t": 1})


def bomb(now_ms: int, records: int = 20_000) -> bytearray:
    """Some kilobytes of zstd that become many tiny records, with a header that tells of a record there is not."""
    rows = [(None, None, (), now_ms)] * records  # of a producer with an id, or they would be looked at when they come
    batch = build_batch(rows, compression=ZSTD, producer_id=9, producer_epoch=0, base_sequence=0)
    set_max_timestamp(batch, 0, CREATE_TIME, now_ms + 1)
    return batch


async def slow_answer(peer: Peer) -> None:
    await until(peer.transport.written.is_set)


def asking(timestamp: int) -> ListOffsetsRequest:
    return requests.list_offsets(timestamp=timestamp)


def told(peer: Peer) -> ListOffsetsPartitionResponse | None:
    answers = peer.answers()
    return answers[0].topics[0].partitions[0] if answers else None


async def test_others_are_answered_while_a_batch_is_walked_that_a_header_points_to(world: BrokerWorld) -> None:
    now_ms = world.clock.now_ms()
    world.services.partitions.append("t", 0, bomb(now_ms))
    world.append("t", b"v")
    slow, quick = world.connect(), world.connect()

    slow.ask(asking(now_ms + 1))
    turns = 0
    async with asyncio.timeout(ANSWER_TIMEOUT_S):
        while (answer := told(slow)) is None:
            turns += 1
            quick.ask(asking(LATEST))
            latest = told(quick)
            assert latest is not None, "whoever comes in between is answered at once"
            assert latest.offset == 20_001
            await turn()

    assert (answer.error_code, answer.offset) == (ErrorCode.NONE, -1)
    assert turns >= 20_000 // 64 // LOOKS_A_SLICE
    assert world.services.request_scheduler.under_way == 0


async def test_a_client_that_goes_away_takes_its_look_up_along(world: BrokerWorld) -> None:
    now_ms = world.clock.now_ms()
    world.services.partitions.append("t", 0, bomb(now_ms))
    peers = [world.connect() for _ in range(UNDER_WAY_MAX + 3)]

    for peer in peers:
        peer.ask(asking(now_ms + 1))
    assert world.services.request_scheduler.under_way == UNDER_WAY_MAX
    for peer in peers:
        peer.transport.hang_up()
    await settle()

    assert world.services.request_scheduler.under_way == 0


async def test_a_topic_that_is_deleted_under_a_look_up_is_unknown(world: BrokerWorld) -> None:
    now_ms = world.clock.now_ms()
    world.services.partitions.append("t", 0, bomb(now_ms))
    for _ in range(3000):
        world.append("t", b"v")
    peer = world.connect()

    peer.ask(asking(now_ms + 1))
    await turn()
    world.services.catalogue.delete_topics(["t"])
    world.clock.advance(600_000)
    await slow_answer(peer)

    answer = told(peer)
    assert answer is not None
    assert (answer.error_code, answer.offset) in ((ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1), (ErrorCode.NONE, -1))


async def test_after_records_were_deleted_the_largest_timestamp_is_looked_for_in_slices(world: BrokerWorld) -> None:
    partitions = world.services.partitions
    now_ms = world.clock.now_ms()
    partitions.append("t", 0, build_batch([(None, b"v", (), now_ms + 9)]))
    for number in range(300):
        partitions.append("t", 0, build_batch([(None, b"v", (), now_ms + number % 7)]))
    partitions.delete_records_before("t", 0, 3)
    slow, quick = world.connect(), world.connect()

    slow.ask(asking(MAX_TIMESTAMP))
    assert told(slow) is None
    quick.ask(asking(LATEST))
    assert told(quick) is not None
    await slow_answer(slow)

    answer = told(slow)
    assert answer is not None
    assert (answer.timestamp, answer.offset) == (now_ms + 6, 7)


@pytest.mark.parametrize("by_name", [True, False])
async def test_a_topic_that_is_deleted_while_topics_are_described_is_unknown_only_to_who_named_it(
    world: BrokerWorld, by_name: bool
) -> None:
    names = [f"u{number:03}" for number in range(3 * LOOKS_A_SLICE)]
    for name in names:
        world.services.catalogue.create_topic(name, 1)
    asked = [TopicRequest(name=name) for name in names] if by_name else []
    peer = world.connect()

    peer.ask(DescribeTopicPartitionsRequest(topics=asked, response_partition_limit=1000, cursor=None))
    assert peer.answers() == [], "it takes more than one slice"
    world.services.catalogue.delete_topics(names[-1:])
    await slow_answer(peer)

    told_of = {topic.name: topic.error_code for topic in peer.answer().topics}
    gone = {names[-1]: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION} if by_name else {}
    others = names[:-1] if by_name else ["t", *names[:-1]]
    assert told_of == dict.fromkeys(others, ErrorCode.NONE) | gone
