"""A metered dispatcher counts what it answers, and one without a meter is as it was."""

from barnabas.broker.api.dispatch import Dispatcher
from barnabas.broker.api.produce_fetch.produce_fast_path import ShortProduce
from barnabas.broker.api.stages.metering import Meter
from barnabas.broker.network.connection import Connection
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.protocol.registry import ApiKey
from tests.support import requests
from tests.support.worlds.broker import BrokerWorld, Peer, settle
from tests.support.worlds.memory_transport import MemoryTransport

PRODUCE_VERSION, FETCH_VERSION = 11, 12


class Metered:
    """A broker whose requests take as many nanoseconds each as the test says."""

    def __init__(self) -> None:
        self.world = BrokerWorld()
        self.world.services.catalogue.create_topic("t")
        self.now_ns = 0
        self.took_ns = 0
        self.meter = Meter(self._tick)
        self.world.dispatcher = Dispatcher(self.world.services, meter=self.meter)
        self.peer: Peer = self.world.connect()

    def _tick(self) -> int:
        self.now_ns += self.took_ns
        return self.now_ns

    def produce(self, records: bytes, topic: str = "t", acks: int = -1) -> None:
        self.peer.ask(requests.produce(memoryview(records), topic, acks=acks), PRODUCE_VERSION)

    def fetch(self, *, offset: int = 0, max_wait_ms: int = 0, min_bytes: int = 1) -> None:
        self.peer.ask(requests.fetch(offset=offset, wait_ms=max_wait_ms, min_bytes=min_bytes), FETCH_VERSION)


async def test_requests_are_counted_by_api_and_version_with_their_time() -> None:
    metered = Metered()
    for took_ns in (0, 999, 1_000, 70_000, 40_000_000_000):
        metered.took_ns = took_ns
        metered.produce(metered.world.batch(b"x"))
    times = metered.meter.times[ApiKey.PRODUCE, PRODUCE_VERSION]
    assert times.total_ns == 40_000_071_999
    assert {index: count for index, count in enumerate(times.buckets) if count} == {0: 2, 1: 1, 7: 1, 24: 1}
    assert list(metered.meter.times) == [(ApiKey.PRODUCE, PRODUCE_VERSION)]


async def test_acks_0_is_counted_too() -> None:
    metered = Metered()
    metered.produce(metered.world.batch(b"x"), acks=0)
    assert sum(metered.meter.times[ApiKey.PRODUCE, PRODUCE_VERSION].buckets) == 1


async def test_waiting_requests_are_timed_to_their_response() -> None:
    metered = Metered()
    metered.took_ns = 1_000_000
    metered.fetch(max_wait_ms=10_000)
    assert sum(metered.meter.times[ApiKey.FETCH, FETCH_VERSION].buckets) == 0
    metered.world.connect().ask(
        ProduceRequest(
            acks=-1,
            timeout_ms=1000,
            topic_data=[
                TopicProduceData(
                    name="t",
                    partition_data=[PartitionProduceData(index=0, records=memoryview(metered.world.batch(b"x")))],
                )
            ],
        ),
        PRODUCE_VERSION,
    )
    await settle()
    times = metered.meter.times[ApiKey.FETCH, FETCH_VERSION]
    assert sum(times.buckets) == 1
    assert times.total_ns >= 3_000_000  # two looks at the clock for Produce lie between the two of Fetch


async def test_bytes_are_counted_once_for_what_a_reader_gets() -> None:
    metered = Metered()
    batch = metered.world.batch(b"x")
    metered.produce(batch)
    metered.fetch(max_wait_ms=10_000, min_bytes=len(batch) + 1)
    assert metered.meter.bytes_read == {}
    metered.world.clock.advance(10_000)
    await settle()
    assert metered.meter.bytes_read == {"t": len(batch)}


async def test_error_codes_are_counted_wherever_they_stand() -> None:
    metered = Metered()
    metered.produce(metered.world.batch(b"x"), topic="unknown")
    metered.fetch(offset=99)
    topics = [
        CreatableTopic(name=name, num_partitions=1, replication_factor=1, assignments=[], configs=[])
        for name in ("t", "new", "no/name")
    ]
    metered.peer.ask(CreateTopicsRequest(topics=topics, timeout_ms=1000))
    metered.peer.ask(InitProducerIdRequest(transactional_id="", transaction_timeout_ms=1000))
    await settle()
    assert dict(metered.meter.errors) == {
        (ApiKey.PRODUCE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION): 1,
        (ApiKey.FETCH, ErrorCode.OFFSET_OUT_OF_RANGE): 1,
        (ApiKey.CREATE_TOPICS, ErrorCode.TOPIC_ALREADY_EXISTS): 1,
        (ApiKey.CREATE_TOPICS, ErrorCode.INVALID_TOPIC_EXCEPTION): 1,
        (ApiKey.INIT_PRODUCER_ID, ErrorCode.INVALID_REQUEST): 1,
    }


async def test_fenced_producers_are_those_whose_id_another_one_has() -> None:
    metered = Metered()
    world = metered.world
    metered.produce(world.batch(b"x", producer=(7, 3, 0)))
    metered.produce(world.batch(b"x", producer=(7, 2, 0)))
    metered.produce(world.batch(b"x", producer=(7, 3, 5)))
    assert metered.meter.fenced == 1


async def test_requests_to_nodes_that_share_a_meter_are_all_counted() -> None:
    metered = Metered()
    other = Dispatcher(metered.world.services, meter=metered.meter)
    peers = [metered.peer, Peer(MemoryTransport(Connection(metered.world.listener, other), 1 << 30))]
    for peer in (*peers, *peers):
        peer.ask(requests.produce(memoryview(metered.world.batch(b"x")), "t", acks=-1), PRODUCE_VERSION)
    assert metered.meter.times[ApiKey.PRODUCE, PRODUCE_VERSION].requests == 4


async def test_without_a_meter_the_entries_are_the_plain_ones() -> None:
    world = BrokerWorld()
    world.services.catalogue.create_topic("t")
    plain, metered = Dispatcher(world.services), Dispatcher(world.services, meter=Meter(lambda: 0))
    for dispatcher, wrapped in ((plain, False), (metered, True)):
        handler = dispatcher._handler(ApiKey.PRODUCE, PRODUCE_VERSION)
        assert isinstance(getattr(handler, "__self__", None), ShortProduce) != wrapped
