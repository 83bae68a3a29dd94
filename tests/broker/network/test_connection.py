"""Connections over a transport in memory: order, parking, back-pressure both ways, acks=0, broken peers."""

import logging
from collections.abc import Iterable

import pytest

from barnabas.broker.network.memory_limits import SEND_PIECE_BYTES
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.api_versions import ApiVersionsRequest
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.messages.produce import ProduceRequest
from tests.support import requests
from tests.support.worlds.broker import BrokerWorld, Peer, request_frame, settle

VERSION = 12  # of Produce and Fetch: the last that name topics


@pytest.fixture
async def world() -> BrokerWorld:
    return BrokerWorld(topics={"t": 2})


def produce(world: BrokerWorld, *values: bytes, acks: int = -1, topic: str = "t") -> ProduceRequest:
    return requests.produce(world.batch(*values), topic, acks=acks)


def fetch(offset: int = 0, max_wait_ms: int = 500, min_bytes: int = 1, max_bytes: int = 50 << 20) -> FetchRequest:
    return requests.fetch(offset=offset, wait_ms=max_wait_ms, min_bytes=min_bytes, max_bytes=max_bytes)


def records_of(answer: object) -> bytes:
    return bytes(answer.responses[0].partitions[0].records)  # type: ignore[attr-defined]  # because it is a Fetch answer


def record_writes(peer: Peer, name: str, order: list[str]) -> None:
    """Note each write to the peer's transport."""
    writelines = peer.transport.writelines

    def noted(list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        order.append(name)
        writelines(list_of_data)

    peer.transport.writelines = noted  # type: ignore[method-assign]  # because only this test looks


@pytest.mark.parametrize("step", [1, 7, 1 << 20])
async def test_pipelined_requests_are_answered_in_order(world: BrokerWorld, step: int) -> None:
    stream = b""
    for number in range(5):
        stream += request_frame(produce(world, b"v%d" % number), VERSION, correlation_id=number)
        stream += request_frame(
            ApiVersionsRequest(client_software_name="x", client_software_version="1"), 3, 100 + number
        )
    peer = world.connect()
    peer.transport.send(stream, step)
    assert peer.numbers() == [0, 100, 1, 101, 2, 102, 3, 103, 4, 104]


async def test_the_first_answer_of_a_read_leaves_at_once_and_the_rest_together(world: BrokerWorld) -> None:
    peer = world.connect()
    peer.transport.send(b"".join(request_frame(produce(world, b"v"), VERSION) for _ in range(8)))
    assert len(peer.transport.writes) == 2
    assert len(peer.frames()) == 8


async def begun_transaction(world: BrokerWorld, peer: Peer) -> tuple[int, int]:
    """A transaction with a record in partition 0: its producer id and epoch."""
    begun = await peer.answer_to(requests.init_producer(), 4)
    producer = begun.producer_id, begun.producer_epoch
    await peer.answer_to(requests.add_partitions("tx", producer, ("t", [0])), 3)
    batch = world.batch(b"v", producer=(*producer, 0), transactional=True)
    await peer.answer_to(requests.produce(batch, "t", transactional_id="tx"), VERSION)
    return producer


async def test_a_commit_is_answered_before_its_marker_is_written(world: BrokerWorld) -> None:
    peer = world.connect()
    producer = await begun_transaction(world, peer)
    log = world.services.partitions.get("t", 0)
    at_answer: list[int] = []
    write = peer.transport.write

    def noted(data: bytes | bytearray | memoryview) -> None:
        at_answer.append(log.log_end_offset)
        write(data)

    peer.transport.write = noted  # type: ignore[method-assign]  # because only this test looks
    peer.ask(requests.end_txn("tx", producer), 3)
    assert at_answer == [1]
    assert (log.log_end_offset, log.last_stable_offset) == (2, 2), "written in the same turn"
    assert peer.answer().error_code == 0


async def test_a_request_behind_a_commit_finds_the_transaction_complete(world: BrokerWorld) -> None:
    peer = world.connect()
    producer = await begun_transaction(world, peer)
    end = request_frame(requests.end_txn("tx", producer), 3, correlation_id=1)
    peer.transport.send(end + request_frame(requests.add_partitions("tx", producer, ("t", [1])), 3, correlation_id=2))
    assert peer.numbers() == [1, 2]
    transaction = world.services.transactions.describe("tx")
    assert transaction is not None
    assert (transaction.state.name, list(transaction.partitions)) == ("ONGOING", [("t", 1)])


async def test_acks_0_has_no_answer_and_the_next_request_has(world: BrokerWorld) -> None:
    peer = world.connect()
    peer.transport.send(request_frame(produce(world, b"v", acks=0), VERSION))
    assert peer.frames() == []
    peer.ask(fetch(), VERSION)
    assert peer.answer().responses[0].partitions[0].high_watermark == 1


async def test_acks_0_and_an_error_closes_the_connection(world: BrokerWorld, caplog: pytest.LogCaptureFixture) -> None:
    peer = world.connect()
    with caplog.at_level(logging.WARNING, "barnabas"):
        peer.transport.send(request_frame(produce(world, b"v", acks=0, topic="missing"), VERSION))
    assert peer.is_closed
    (record,) = caplog.records
    assert "api=Produce" in record.message
    assert "UNKNOWN_TOPIC_OR_PARTITION" in record.message


async def test_a_long_poll_is_answered_by_an_append_and_holds_what_came_after_it(world: BrokerWorld) -> None:
    consumer, producer = world.connect(), world.connect()
    consumer.ask(fetch(), VERSION, correlation_id=7)
    consumer.ask(MetadataRequest(topics=[]), 1, correlation_id=8)
    await settle()
    assert consumer.frames() == []
    producer.ask(produce(world, b"v"), VERSION)
    assert producer.answer().responses[0].partition_responses[0].error_code == ErrorCode.NONE
    await settle()
    answers = consumer.answers()
    assert b"v" in records_of(answers[0])
    assert len(answers) == 2


async def test_a_long_poll_is_answered_in_the_same_callback_after_who_ended_it(world: BrokerWorld) -> None:
    consumer, producer = world.connect(), world.connect()
    consumer.ask(fetch(), VERSION)
    order: list[str] = []
    for name, peer in (("consumer", consumer), ("producer", producer)):
        record_writes(peer, name, order)
    producer.transport.send(b"".join(request_frame(produce(world, b"v"), VERSION) for _ in range(3)))
    assert order == ["producer", "producer", "consumer"]
    (answer,) = consumer.answers()
    assert answer.responses[0].partitions[0].high_watermark == 3


async def test_a_long_poll_that_no_connection_ended_is_answered_by_the_loop(world: BrokerWorld) -> None:
    consumer = world.asking(fetch(), VERSION)
    world.services.partitions.append("t", 0, bytearray(world.batch(b"v")))
    assert consumer.frames() == []
    await settle()
    assert b"v" in records_of(consumer.answer())


async def test_a_connection_with_a_parked_request_receives_no_more_than_one_read_ahead(world: BrokerWorld) -> None:
    consumer = world.asking(fetch(), VERSION)
    consumer.transport.send(request_frame(MetadataRequest(topics=[]), 1))
    assert not consumer.transport.is_reading()
    world.clock.advance(500)
    await settle()
    assert consumer.transport.is_reading()
    assert len(consumer.frames()) == 2


async def test_a_consumer_that_hangs_up_leaves_nothing_parked(world: BrokerWorld) -> None:
    consumer = world.asking(fetch(), VERSION)
    assert len(world.services.purgatory) == 1
    consumer.transport.hang_up()
    await settle()
    assert consumer.is_closed
    assert len(world.services.purgatory) == 0


async def test_a_peer_that_does_not_read_stops_being_served(world: BrokerWorld) -> None:
    peer = world.connect(kernel_bytes=1000)
    stream = b"".join(request_frame(produce(world, b"v"), VERSION, number) for number in range(2000))
    peer.transport.send(stream)
    assert not peer.transport.is_reading()
    assert len(peer.transport.in_flight) > 0
    assert world.listener.send_memory.unread_bytes > 0
    frames = await peer.frames_to_come(2000)
    assert [int.from_bytes(frame[:4], "big") for frame in frames] == list(range(2000))
    assert world.listener.send_memory.unread_bytes == 0


async def test_requests_in_reads_of_their_own_wait_for_a_peer_that_stopped_reading(world: BrokerWorld) -> None:
    peer = world.connect(kernel_bytes=20)
    for number in range(3):
        peer.transport.send(request_frame(produce(world, b"v"), VERSION, number))
    assert not peer.transport.is_reading()
    assert len(peer.transport.writes) == 1
    assert len(peer.transport.in_flight) > 0
    assert world.listener.send_memory.unread_bytes > 0
    frames = await peer.frames_to_come(3)
    assert [int.from_bytes(frame[:4], "big") for frame in frames] == [0, 1, 2]
    assert peer.transport.is_reading()
    assert world.listener.send_memory.unread_bytes == 0


async def test_a_request_read_behind_a_parked_one_waits_although_it_came_whole(world: BrokerWorld) -> None:
    peer = world.connect()
    peer.ask(fetch(), VERSION, correlation_id=1)
    peer.ask(fetch(offset=9, max_wait_ms=0), VERSION, correlation_id=2)
    assert peer.frames() == []
    world.clock.advance(500)
    await settle()
    assert peer.numbers() == [1, 2]


@pytest.mark.parametrize("count", [1, 2])
async def test_a_mistake_of_ours_closes_the_connection_and_is_logged(
    world: BrokerWorld, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("ours")

    peer = world.connect()
    monkeypatch.setattr(peer.connection, "_dispatch", broken)
    with caplog.at_level(logging.ERROR, "barnabas"):
        peer.transport.send(request_frame(MetadataRequest(topics=[]), 1) * count)
    assert peer.is_closed
    (record,) = caplog.records
    assert "connection failed" in record.message
    assert record.exc_info is not None


async def test_a_large_answer_is_read_from_the_file_piece_by_piece(world: BrokerWorld) -> None:
    producer = world.connect()
    for _ in range(5):
        producer.ask(produce(world, bytes(900_000)), VERSION)
    assert len(producer.answers()) == 5
    peer = world.connect(kernel_bytes=10_000)
    peer.ask(fetch(), VERSION)
    assert 0 < world.listener.send_memory.unread_bytes <= SEND_PIECE_BYTES
    assert sum(peer.transport.writes) <= 2 * SEND_PIECE_BYTES
    assert len(records_of(await peer.answer_to_come())) > 4_500_000
    assert world.listener.send_memory.unread_bytes == 0


async def test_a_peer_that_is_cut_off_while_sending_gives_everything_back(world: BrokerWorld) -> None:
    world.asking(produce(world, bytes(900_000)), VERSION)
    peer = world.connect(kernel_bytes=10_000)
    peer.ask(fetch(), VERSION)
    assert world.listener.send_memory.unread_bytes > 0
    peer.connection.close()
    assert peer.is_closed
    assert world.listener.send_memory.unread_bytes == 0


@pytest.mark.parametrize(
    ("garbage", "reason"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "HTTP"),
        (b"\x16\x03\x01\x00\xee\x01\x00", "TLS"),
        (b"\x00\x00\x00\x02ab", "header"),
        (b"\x00\x00\x00\x0a\x7f\xff\x00\x00\x00\x00\x00\x00\x00\x00", "32767"),
        (b"\x00\x00\x00\x0a\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00", "version 2 of Produce"),
        (b"\x00\x00\x00\x0b\x00\x03\x00\x01\x00\x00\x00\x00\x00\x00\x00", "Metadata"),
        (b"\x00\x00\x00\x0b\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00", "Produce"),
        (b"\x00\x00\x00\x0b\x00\x01\x00\x0c\x00\x00\x00\x00\x00\x00\x00", "Fetch"),
        (b"\x00\x00\x00\x0a\x00\x03\x00\x01\x00\x00\x00\x00\x00\x09", "client id"),
        (b"\x00\x00\x00\x0c\x00\x03\x00\x01\x00\x00\x00\x00\x00\x02\xff\xfe", "UTF-8"),
    ],
)
async def test_broken_bytes_close_the_connection_with_one_line(
    world: BrokerWorld, caplog: pytest.LogCaptureFixture, garbage: bytes, reason: str
) -> None:
    peer = world.connect()
    with caplog.at_level(logging.INFO, "barnabas"):
        peer.transport.send(garbage)
    assert peer.is_closed
    (record,) = caplog.records
    assert record.message.startswith("connection closed peer=127.0.0.1:50000")
    assert reason in record.message


async def test_responses_before_the_broken_bytes_are_still_sent(world: BrokerWorld) -> None:
    peer = world.connect()
    good = request_frame(MetadataRequest(topics=[]), 1)
    peer.transport.send(good + good + good + b"GET / HTTP/1.1\r\n")
    assert len(peer.frames()) == 3
    assert peer.is_closed


async def test_more_connections_than_allowed_are_refused() -> None:
    world = BrokerWorld({"max.connections": "2"})
    peers = [world.connect() for _ in range(3)]
    assert [peer.is_closed for peer in peers] == [False, False, True]
    peers[0].transport.hang_up()
    assert not world.connect().is_closed


@pytest.mark.parametrize("limit", ["0", "-1"])
async def test_without_a_limit_on_queued_requests_no_large_frame_waits(limit: str) -> None:
    world = BrokerWorld({"queued.max.request.bytes": limit})
    peers = [world.connect() for _ in range(4)]
    for peer in peers:
        peer.transport.send((100_000).to_bytes(4, "big") + bytes(80_000))
    assert [peer.transport.in_flight for peer in peers] == [b""] * 4


async def test_an_idle_connection_is_closed_and_a_parked_or_busy_one_is_not() -> None:
    world = BrokerWorld({"connections.max.idle.ms": "1000"})
    world.services.catalogue.create_topic("t")
    await world.broker.start()
    idle, parked, busy = world.connect(), world.connect(), world.connect()
    parked.ask(fetch(max_wait_ms=60_000), VERSION)
    for _ in range(10):
        world.clock.advance(300)
        busy.ask(MetadataRequest(topics=[]), 1)
    assert idle.is_closed
    assert not parked.is_closed
    assert not busy.is_closed


async def test_a_stop_answers_what_is_parked_and_closes_every_connection(world: BrokerWorld) -> None:
    parked, idle = world.connect(), world.connect()
    parked.ask(fetch(max_wait_ms=60_000), VERSION)
    await world.close()
    assert parked.answer().error_code == ErrorCode.NONE
    assert parked.is_closed
    assert idle.is_closed


@pytest.mark.pure
async def test_an_exception_nobody_expected_is_answered_and_logged_with_its_stack(
    world: BrokerWorld, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(world.services.partitions, "get_led", broken)
    monkeypatch.setattr(world.services.partitions, "get_to_read", broken)
    peer: Peer = world.connect()
    with caplog.at_level(logging.ERROR, "barnabas"):
        peer.ask(produce(world, b"v"), VERSION)
        peer.ask(fetch(), VERSION)
    produced, fetched = peer.answers()
    assert produced.responses[0].partition_responses[0].error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert fetched.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert [record.exc_info is not None for record in caplog.records] == [True, True]
    assert not peer.is_closed
    monkeypatch.undo()
