"""Clients that have to wait: what they are told, and what becomes of their connections. Over a broker in memory."""

import asyncio
from typing import Any

import pytest

from barnabas.broker.api.deferred_response import Answer, DeferredResponse
from barnabas.broker.api.frame_handler import FrameHandler, RequestConnection
from barnabas.broker.metadata.image.client_quotas import QuotaAlteration
from barnabas.broker.services import Services
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.protocol.messages.produce import ProduceRequest
from barnabas.protocol.primitives import ZERO_UUID
from barnabas.protocol.registry import ApiKey
from tests.support import requests
from tests.support.worlds.broker import BrokerWorld, request_frame, settle
from tests.support.worlds.faulty_broker import asked

PRODUCE_VERSIONS = range(3, ApiKey.PRODUCE.max_version + 1)
FETCH_VERSIONS = range(ApiKey.FETCH.min_version, ApiKey.FETCH.max_version + 1)
TEST_CLIENT: dict[str, str | None] = {"client-id": "test"}
"""As whom the world's peers ask."""


class _Busy:
    """A stopwatch that shows so much more at each look."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.step = 0.0

    def __call__(self) -> float:
        self.seconds += self.step
        return self.seconds


@pytest.fixture
def stopwatch() -> _Busy:
    return _Busy()


@pytest.fixture
async def world(stopwatch: _Busy) -> BrokerWorld:
    return BrokerWorld(stopwatch=stopwatch, topics={"t": 3})


def limit(services: Services, entity: dict[str, str | None] = TEST_CLIENT, **quotas: float | None) -> None:
    wishes = [QuotaAlteration(entity, list(quotas.items()))]
    ((_, refusal),) = services.catalogue.client_quotas.alter(wishes, validate_only=False)
    assert refusal is None


def produce(world: BrokerWorld, size: int = 1000, acks: int = -1) -> ProduceRequest:
    topic_id = world.services.catalogue.topics["t"].topic_id
    return requests.produce(world.batch(b"x" * size), topic_id=topic_id, acks=acks)


def fetch(world: BrokerWorld, offset: int = 0, size: int = 1 << 20, **changes: Any) -> FetchRequest:
    """size: how much it may be in all."""
    topic_id = world.services.catalogue.topics["t"].topic_id
    request = requests.fetch(topic_id=topic_id, offset=offset, **changes)
    request.max_bytes = size
    return request


def create(*names: str, partitions: int = 1) -> CreateTopicsRequest:
    topics = [topic for name in names for topic in requests.create_topic(name, partitions, 1).topics]
    return CreateTopicsRequest(topics=topics, timeout_ms=1000)


# --- produce --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", PRODUCE_VERSIONS)
async def test_a_producer_is_answered_at_once_and_then_waits(world: BrokerWorld, version: int) -> None:
    limit(world.services, producer_byte_rate=100.0)
    peer = world.connect()
    peer.ask(produce(world), version)  # 1000 bytes of a burst of 1000, and what is around them
    size = len(request_frame(produce(world), version)) - 4
    peer.ask(ListGroupsRequest())
    await settle()
    (answer,) = peer.answers()
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
    assert answer.throttle_time_ms == (size - 1000) * 10
    await world.advance(answer.throttle_time_ms - 1)
    assert peer.answers() == []
    await world.advance(1)
    assert len(peer.answers()) == 1


async def test_a_request_within_its_quota_does_not_wait(world: BrokerWorld) -> None:
    limit(world.services, producer_byte_rate=1e6)
    (answer,) = await asked(world.connect(), produce(world))
    assert answer.throttle_time_ms == 0
    assert len(world.services.quotas.in_force.muting) == 0  # type: ignore[union-attr]  # because there is a quota


async def test_a_producer_that_wants_no_answer_waits_too(world: BrokerWorld) -> None:
    limit(world.services, producer_byte_rate=100.0)
    peer = world.asking(produce(world, 3000, acks=0))
    peer._asked.clear()
    peer.ask(ListGroupsRequest())
    await world.advance(20_000)
    assert peer.answers() == []
    await world.advance(2_000)
    assert len(peer.answers()) == 1


async def test_earlier_requests_are_answered_first(world: BrokerWorld) -> None:
    """Three requests in one read: the answers that are held back together leave before the one that mutes."""
    limit(world.services, producer_byte_rate=100.0)
    peer = world.connect()
    request_usage = [ListGroupsRequest(), ListGroupsRequest(), produce(world, 3000), ListGroupsRequest()]
    versions = [4, 4, 12, 4]
    frames = [request_frame(each, versions[number], number + 1) for number, each in enumerate(request_usage)]
    peer.transport.send(b"".join(frames))
    await settle()
    assert [int.from_bytes(frame[:4], "big") for frame in peer.frames()] == [1, 2, 3]
    await world.advance(30_000)
    assert [int.from_bytes(frame[:4], "big") for frame in peer.frames()] == [4]


async def test_another_client_does_not_wait(world: BrokerWorld) -> None:
    limit(world.services, producer_byte_rate=100.0)
    await asked(world.connect(), produce(world, 5000))
    other = world.connect()
    (answer,) = await asked(other, ListGroupsRequest())
    assert answer.throttle_time_ms == 0


async def test_a_quota_that_is_raised_acts_at_once_on_what_comes_then(world: BrokerWorld) -> None:
    limit(world.services, producer_byte_rate=100.0)
    (answer,) = await asked(world.connect(), produce(world, 5000))
    assert answer.throttle_time_ms > 10_000
    limit(world.services, producer_byte_rate=1e9)
    (answer,) = await asked(world.connect(), produce(world, 5000))
    assert answer.throttle_time_ms == 0


async def test_without_quotas_entries_are_as_they_were(world: BrokerWorld) -> None:
    peer = world.connect()
    await asked(peer, produce(world))
    entries = dict(world.dispatcher._handlers)
    limit(world.services, producer_byte_rate=100.0)
    assert world.services.quotas.in_force is not None
    assert world.dispatcher._handlers == {}
    limit(world.services, producer_byte_rate=None)
    assert world.services.quotas.in_force is None
    await asked(peer, produce(world))
    assert [type(each) for each in world.dispatcher._handlers.values()] == [type(each) for each in entries.values()]


async def test_a_stop_waits_for_no_one_who_is_muted(world: BrokerWorld) -> None:
    limit(world.services, producer_byte_rate=1.0)
    peer = world.connect()
    await asked(peer, produce(world, 5000))
    assert peer.connection.is_busy
    await world.close()
    assert peer.is_closed


async def test_a_peer_that_leaves_while_it_is_muted_leaves_nothing_behind(world: BrokerWorld) -> None:
    limit(world.services, producer_byte_rate=1.0)
    peer = world.connect()
    await asked(peer, produce(world, 5000))
    in_force = world.services.quotas.in_force
    assert in_force is not None
    assert len(in_force.muting) == 1
    peer.transport.hang_up()
    await settle()
    assert len(in_force.muting) == 0


async def test_a_connection_muted_beyond_the_idle_time_is_closed(world: BrokerWorld) -> None:
    limit(world.services, producer_byte_rate=1.0)
    peer = world.connect()
    (answer,) = await asked(peer, produce(world, 5000))
    world.listener.watch_idle()
    assert answer.throttle_time_ms > 700_000
    for _ in range(5):
        await world.advance(150_000)
    assert peer.is_closed


# --- fetch ----------------------------------------------------------------------------------------------------------


def fill(world: BrokerWorld, *sizes: int) -> None:
    for size in sizes:
        world.services.partitions.append("t", 0, bytearray(world.batch(b"x" * size)))


@pytest.mark.parametrize("version", FETCH_VERSIONS)
async def test_a_consumer_gets_nothing_until_its_time_is_over(world: BrokerWorld, version: int) -> None:
    limit(world.services, consumer_byte_rate=1000.0)
    fill(world, 8_000, 8_000)
    peer = world.connect()
    first = fetch(world, 0, 9_000)
    (answer,) = await asked(peer, first, version)
    (topic,) = answer.responses
    assert len(topic.partitions[0].records) > 8_000
    assert answer.throttle_time_ms == 0
    (answer,) = await asked(peer, fetch(world, 1), version)
    assert answer.responses == []
    assert 6_000 < answer.throttle_time_ms < 8_000
    peer.ask(fetch(world, 1), version)
    await world.advance(answer.throttle_time_ms - 1)
    assert peer.answers() == []
    await world.advance(5_000)
    (answer,) = peer.answers()
    if not answer.responses:  # the first read counts a while longer
        await world.advance(answer.throttle_time_ms)
        (answer,) = await asked(peer, fetch(world, 1), version)
    assert len(answer.responses[0].partitions[0].records) > 8_000


async def test_a_throttled_fetch_remembers_nothing_in_its_session(world: BrokerWorld) -> None:
    limit(world.services, consumer_byte_rate=1000.0)
    fill(world, 1_000)
    peer = world.connect()
    (answer,) = await asked(peer, fetch(world, 0, session_id=0, session_epoch=0))
    session_id = answer.session_id
    assert session_id > 0
    fill(world, 9_300)
    on = {"session_id": session_id, "topics": [], "forgotten_topics_data": []}
    moved = fetch(world, 1, session_id=session_id, session_epoch=1, forgotten_topics_data=[])
    (answer,) = await asked(peer, moved)
    assert (answer.responses, answer.session_id, answer.error_code) == ([], session_id, 0)
    assert answer.throttle_time_ms > 0
    await world.advance(30_000)
    (answer,) = await asked(peer, fetch(world, 1, session_epoch=2, **on))
    assert answer.responses[0].partitions[0].high_watermark == 2


async def test_a_session_that_was_to_begin_with_a_throttled_fetch_has_not(world: BrokerWorld) -> None:
    limit(world.services, consumer_byte_rate=10.0)
    fill(world, 9_000)
    (answer,) = await asked(world.connect(), fetch(world, 0, session_id=0, session_epoch=0))
    assert (answer.responses, answer.session_id) == ([], 0)
    assert len(world.services.fetch_sessions) == 0


async def test_no_more_is_read_than_may_be_had_at_once(world: BrokerWorld) -> None:
    limit(world.services, consumer_byte_rate=100.0)
    fill(world, *[300] * 10)
    (answer,) = await asked(world.connect(), fetch(world))
    assert answer.throttle_time_ms in range(1_000)
    assert world.services.quotas.in_force is not None


# --- requests -------------------------------------------------------------------------------------------------------


async def test_request_time_counts_in_percent_of_the_loops_time(world: BrokerWorld, stopwatch: _Busy) -> None:
    limit(world.services, request_percentage=1.0)
    peer = world.connect()
    stopwatch.step = 0.001
    (answer,) = await asked(peer, ListGroupsRequest())
    stopwatch.step = 0.0
    assert answer.throttle_time_ms == 0  # some thousandths in a window of ten seconds
    stopwatch.step = 1.0
    (answer,) = await asked(peer, ListGroupsRequest())
    stopwatch.step = 0.0
    assert answer.throttle_time_ms == 1000  # no more than one window


@pytest.mark.parametrize("version", range(ApiKey.API_VERSIONS.max_version + 1))
async def test_the_time_is_told_wherever_an_answer_has_a_place_for_it(
    world: BrokerWorld, stopwatch: _Busy, version: int
) -> None:
    limit(world.services, request_percentage=0.01)
    peer = world.connect()
    stopwatch.step = 1.0
    request_usage = ApiVersionsRequest(client_software_name="a", client_software_version="1")
    (answer,) = await asked(peer, request_usage, version)
    assert answer.throttle_time_ms == (1000 if version else 0)
    assert len(answer.api_keys) > 30


# --- partitions that are created and deleted ------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(2, ApiKey.CREATE_TOPICS.max_version + 1))
async def test_topics_created_beyond_a_burst_are_refused_where_the_version_has_the_error(
    world: BrokerWorld, version: int
) -> None:
    limit(world.services, controller_mutation_rate=1.0)
    peer = world.connect()
    (answer,) = await asked(peer, create("a", "b", partitions=12), version)
    codes = {topic.name: topic.error_code for topic in answer.topics}
    strict = version >= 6
    assert codes == {"a": 0, "b": ErrorCode.THROTTLING_QUOTA_EXCEEDED if strict else 0}
    assert ("b" in world.services.catalogue.topics) is not strict
    assert answer.throttle_time_ms == (1_000 if strict else 13_000)


@pytest.mark.parametrize("version", range(ApiKey.CREATE_PARTITIONS.max_version + 1))
async def test_partitions_added_beyond_a_burst_are_refused_where_the_version_has_the_error(
    world: BrokerWorld, version: int
) -> None:
    limit(world.services, controller_mutation_rate=1.0)
    wishes = [CreatePartitionsTopic(name="t", count=20, assignments=None)]
    peer = world.connect()
    request_usage = CreatePartitionsRequest(topics=wishes, timeout_ms=1000, validate_only=False)
    (answer,) = await asked(peer, request_usage, version)
    assert answer.results[0].error_code == 0
    assert answer.throttle_time_ms == (0 if version >= 3 else 6_000)
    if version < 3:
        await world.advance(answer.throttle_time_ms)
    wishes[0].count = 21
    await asked(peer, request_usage, version)
    assert len(world.services.catalogue.topics["t"].partitions) == (20 if version >= 3 else 21)


@pytest.mark.parametrize("version", range(1, ApiKey.DELETE_TOPICS.max_version + 1))
async def test_topics_deleted_beyond_a_burst_are_refused_where_the_version_has_the_error(
    world: BrokerWorld, version: int
) -> None:
    world.services.catalogue.create_topic("large", 20)
    limit(world.services, controller_mutation_rate=1.0)
    names = ["large", "t"]
    topics = [DeleteTopicState(name=name, topic_id=ZERO_UUID) for name in names] if version >= 6 else []
    request_usage = DeleteTopicsRequest(topics=topics, topic_names=[] if topics else names, timeout_ms=1000)
    (answer,) = await asked(world.connect(), request_usage, version)
    codes = {each.name: each.error_code for each in answer.responses}
    strict = version >= 5
    assert codes == {"large": 0, "t": ErrorCode.THROTTLING_QUOTA_EXCEEDED if strict else 0}
    assert answer.throttle_time_ms == (9_000 if strict else 12_000)
    assert ("t" in world.services.catalogue.topics) is strict


async def test_a_request_that_a_fault_delays_is_measured_as_any_other(world: BrokerWorld) -> None:
    delayed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def wrap(api_key: int, version: int, handler: FrameHandler) -> FrameHandler:
        def serve(frame: memoryview, position: int, correlation_id: int, client: RequestConnection) -> Answer:
            copy = memoryview(bytearray(frame))
            return DeferredResponse(
                delayed, lambda _: handler(copy, position, correlation_id, client), may_be_given_up=True
            )

        return serve

    limit(world.services, controller_mutation_rate=1.0)
    world.dispatcher.intercept(wrap)
    peer = world.connect()
    assert await asked(peer, create("a", "b", partitions=12)) == []
    delayed.set_result(None)
    await settle()
    (answer,) = peer.answers()
    assert [topic.error_code for topic in answer.topics] == [0, ErrorCode.THROTTLING_QUOTA_EXCEEDED]
    assert peer.connection.measured is None


async def test_a_topic_somebody_asks_about_is_not_created_while_the_quota_is_used_up(world: BrokerWorld) -> None:
    limit(world.services, controller_mutation_rate=1.0)
    await asked(world.connect(), create("large", partitions=20))
    peer = world.connect()
    request_usage = MetadataRequest(topics=[MetadataRequestTopic(name="new")], allow_auto_topic_creation=True)
    (answer,) = await asked(peer, request_usage)
    assert answer.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert answer.throttle_time_ms == 0
    await world.advance(20_000)
    (answer,) = await asked(peer, request_usage)
    assert answer.topics[0].error_code == 0


async def test_the_broker_does_not_use_up_a_clients_quota_for_itself(world: BrokerWorld) -> None:
    limit(world.services, controller_mutation_rate=1.0)
    world.services.catalogue.create_topic("own", 100)
    (answer,) = await asked(world.connect(), create("a"))
    assert answer.throttle_time_ms == 0
