"""Answers written to the socket itself, past the transport: whole, in part, not at all; and peers that go away."""

import asyncio
import socket
from collections.abc import Callable

import pytest
import uvloop

from barnabas.broker.network.bound_sockets import bind
from barnabas.broker.network.connection import Connection
from barnabas.broker.network.network import LoopNetwork
from barnabas.protocol.connection.framing import FrameBuffer
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from tests.support import requests
from tests.support.worlds.broker import BrokerWorld, Peer, request_frame, settle, until
from tests.support.worlds.memory_transport import MemoryTransport

DESCRIPTOR = 1 << 20
TIMEOUT_S = 30


class Socket:
    """As much of a socket as a transport has to show."""

    def fileno(self) -> int:
        return DESCRIPTOR


class Direct:
    """A connection whose transport shows its socket. `sent` are the sizes that the kernel took of direct writes."""

    def __init__(self, world: BrokerWorld, kernel_bytes: int = 1 << 30, error: OSError | None = None) -> None:
        self.sent: list[int] = []
        self._error = error
        world.listener.send = self._send
        connection = Connection(world.listener, world.dispatcher)
        self.transport = MemoryTransport(connection, kernel_bytes, sock=Socket())
        self.peer = Peer(self.transport)

    def _send(self, descriptor: int, data: bytes | bytearray | memoryview) -> int:
        assert descriptor == DESCRIPTOR
        if self._error is not None:
            raise self._error
        self.sent.append(self.transport.write_directly(data))
        return self.sent[-1]


def metadata(count: int, first: int = 0) -> list[bytes]:
    """Requests, and each is answered with its number."""
    return [request_frame(MetadataRequest(topics=None), 1, first + number) for number in range(count)]


def fetch() -> FetchRequest:
    """From the beginning, as a long poll."""
    return requests.fetch(wait_ms=500, max_bytes=4 << 20)


def numbers(frames: list[bytes]) -> list[int]:
    return [int.from_bytes(frame[:4], "big") for frame in frames]


async def test_a_write_that_fits_the_kernels_buffer_bypasses_the_transport(world: BrokerWorld) -> None:
    direct = Direct(world)
    for request in metadata(3):
        direct.transport.send(request)
    direct.transport.send(b"".join(metadata(3, first=3)))
    assert direct.peer.numbers() == list(range(6))
    assert direct.transport.writes == []


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("kernel_bytes", [1, 7, 100, 150])
async def test_the_transport_has_the_rest_of_a_partial_send_and_the_order_stays(
    world: BrokerWorld, kernel_bytes: int, together: bool
) -> None:
    direct = Direct(world, kernel_bytes)
    requests = metadata(20)
    for each in [b"".join(requests)] if together else requests:
        direct.transport.send(each)
    assert not direct.transport.is_reading()
    assert world.listener.send_memory.unread_bytes == direct.sent[-1] + direct.transport.writes[-1]
    frames = await direct.peer.frames_to_come(20)
    assert numbers(frames) == list(range(20))
    assert len(set(map(len, frames))) == 1
    assert world.listener.send_memory.unread_bytes == 0
    assert direct.transport.is_reading()


async def test_a_short_answer_with_records_never_sees_the_transport_either(world: BrokerWorld) -> None:
    direct = Direct(world)
    direct.peer.ask(fetch(), 12)
    world.services.partitions.append("t", 0, bytearray(world.batch(b"v")))
    await settle()
    assert bytes(direct.peer.answer().responses[0].partitions[0].records).endswith(b"v\x00")
    assert direct.transport.writes == []


@pytest.mark.parametrize(
    ("batches", "size", "kernel_bytes"),
    [(1, 100, 50), (1, 10_000, 500), (1, 10_000, 70_000), (3, 900_000, 70_000), (3, 900_000, 1 << 20)],
)
async def test_records_arrive_whole_whatever_the_kernel_takes_of_each_piece(
    world: BrokerWorld, batches: int, size: int, kernel_bytes: int
) -> None:
    value = bytes(range(256)) * (size // 256 + 1)
    for _ in range(batches):
        world.services.partitions.append("t", 0, bytearray(world.batch(value)))
    direct = Direct(world, kernel_bytes)
    direct.peer.ask(fetch(), 12)
    answer = await direct.peer.answer_to_come()
    assert bytes(answer.responses[0].partitions[0].records).count(value) == batches
    assert world.listener.send_memory.unread_bytes == 0


async def test_a_transport_that_says_nothing_of_what_it_keeps_is_not_passed_by(world: BrokerWorld) -> None:
    direct = Direct(world, kernel_bytes=50)
    direct.transport.never_pauses = True
    for request in metadata(20):
        direct.transport.send(request)
    frames: list[bytes] = []
    for _ in range(20 * 100):
        frames += direct.peer.frames()
    assert numbers(frames) == list(range(20))


async def test_a_full_kernel_gives_the_whole_answer_to_the_transport(world: BrokerWorld) -> None:
    direct = Direct(world, error=BlockingIOError())
    direct.transport.send(metadata(1)[0])
    assert direct.peer.numbers() == [0]
    assert len(direct.transport.writes) == 1


async def test_an_error_is_left_to_the_transport(world: BrokerWorld) -> None:
    direct = Direct(world, error=BrokenPipeError())
    direct.transport.send(metadata(1)[0])
    assert len(direct.transport.writes) == 1
    assert not direct.peer.connection.is_closed


async def test_a_connection_closed_with_half_an_answer_sent_gives_everything_back(world: BrokerWorld) -> None:
    direct = Direct(world, kernel_bytes=10)
    direct.transport.send(metadata(1)[0])
    assert world.listener.send_memory.unread_bytes > 0
    direct.peer.connection.close()
    assert direct.peer.is_closed
    assert world.listener.send_memory.unread_bytes == 0


async def test_an_answer_that_comes_after_the_peer_has_gone_is_written_nowhere(world: BrokerWorld) -> None:
    direct = Direct(world)
    direct.peer.ask(fetch(), 12)
    direct.transport.hang_up()
    world.clock.advance(500)
    await settle()
    assert direct.sent == []


@pytest.mark.parametrize("end", [Connection.close, Connection.abort])
async def test_half_an_answer_is_not_followed_by_another(world: BrokerWorld, end: Callable[[Connection], None]) -> None:
    class LostLater(MemoryTransport):
        """As a loop's transports, which tell of the end in a callback of its own."""

        def _lose(self, error: Exception | None) -> None:
            asyncio.get_running_loop().call_soon(super()._lose, error)

    def send(_: int, data: bytes | bytearray | memoryview) -> int:
        return transport.write_directly(data)

    world.listener.send = send
    connection = Connection(world.listener, world.dispatcher)
    transport = LostLater(connection, 100, sock=Socket())
    transport.send(b"".join([*metadata(2), request_frame(fetch(), 12, 2)]))
    assert connection.is_parked
    assert world.listener.send_memory.unread_bytes > 0
    world.services.purgatory.wake_all()  # it is answered in the next turn
    end(connection)
    peer_has = transport.read()
    await settle()
    assert transport.is_lost
    assert (len(peer_has), transport.read()) == (100, b"")


async def test_a_transport_that_changes_what_it_sends_is_not_passed_by(world: BrokerWorld) -> None:
    class Encrypting(MemoryTransport):
        def get_extra_info(self, name: str, default: object = None) -> object:
            return object() if name == "sslcontext" else super().get_extra_info(name, default)

    transport = Encrypting(Connection(world.listener, world.dispatcher), sock=Socket())
    transport.send(metadata(1)[0])
    assert len(transport.writes) == 1


@pytest.mark.parametrize("new_loop", [asyncio.SelectorEventLoop, uvloop.new_event_loop])
def test_a_peer_that_stops_reading_gets_all_in_order_later(new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """Real sockets: partial sends and a full kernel in whatever order they come."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(asyncio.wait_for(_answers_read_late(20_000), TIMEOUT_S))


async def _answers_read_late(count: int) -> None:
    world = BrokerWorld(network=LoopNetwork())
    world.services.catalogue.create_topic("t" * 200)
    sockets = bind("127.0.0.1", 0)
    await world.listener.listen(sockets, world.dispatcher)
    try:
        await _read_late(world, sockets[0].getsockname(), count)
        assert world.listener.send_memory.unread_bytes == 0
    finally:
        world.listener.abort()  # uvloop's close waits for ever for a connection that is left
        await world.close()


async def _read_late(world: BrokerWorld, address: tuple[str, int], count: int) -> None:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.setblocking(False)
    await asyncio.get_running_loop().sock_connect(client, address)
    reader, writer = await asyncio.open_connection(sock=client, limit=4096)
    try:
        writer.write(b"".join(metadata(count)))
        await until(lambda: world.listener.send_memory.unread_bytes)
        received, found = FrameBuffer(1 << 20), 0
        while found < count:
            came = await reader.read(1 << 20)
            assert came, "the connection was closed"
            for answer in received.feed(came):
                assert int.from_bytes(answer[:4], "big") == found
                found += 1
    finally:
        writer.transport.abort()
