"""Answers that are held until a turn of the loop ends: when, for how long, and what may happen meanwhile."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable

import pytest
import uvloop

from barnabas.broker.network.bound_sockets import bind
from barnabas.broker.network.network import LoopNetwork
from barnabas.broker.network.response_batch import AT_ONCE, CROWD, HELD_MAX, ResponseBatch
from barnabas.protocol.messages.metadata import MetadataRequest
from tests.support.worlds.broker import BrokerWorld, request_frame, turn

TIMEOUT_S = 30


class Waiting:
    """A connection that notes when it was told to send."""

    def __init__(self, sent: list[Waiting]) -> None:
        self._sent = sent

    def send_held(self) -> None:
        self._sent.append(self)


def turn_of(connections_count: int) -> ResponseBatch:
    return ResponseBatch(asyncio.get_running_loop(), range(connections_count))


@pytest.fixture
def sent() -> list[Waiting]:
    return []


async def test_a_crowd_is_sent_to_when_the_turn_ends_in_the_order_of_its_requests(sent: list[Waiting]) -> None:
    crowd = turn_of(CROWD)
    crowd.at_once_count = 0
    held = [Waiting(sent) for _ in range(CROWD)]
    for each in held:
        crowd.hold(each)
    assert sent == []
    await turn()
    assert sent == held
    assert crowd.at_once_count == 0, "the next turn holds, too"


async def test_after_a_turn_of_few_answers_leave_at_once_for_a_while(sent: list[Waiting]) -> None:
    few = turn_of(1000)
    few.at_once_count = 0
    for _ in range(CROWD - 1):
        few.hold(Waiting(sent))
    assert sent == []
    await turn()
    assert len(sent) == CROWD - 1
    assert few.at_once_count == AT_ONCE


async def test_few_connections_are_never_delayed(sent: list[Waiting]) -> None:
    few = turn_of(CROWD - 1)
    few.at_once_count = 0
    few.hold(Waiting(sent))
    assert len(sent) == 1
    assert few.at_once_count == AT_ONCE


async def test_a_long_turn_is_sent_to_in_parts(sent: list[Waiting]) -> None:
    long = turn_of(1000)
    long.at_once_count = 0
    for number in range(2 * HELD_MAX + 3):
        long.hold(Waiting(sent))
        assert number + 1 - len(sent) < HELD_MAX
    assert len(sent) == 2 * HELD_MAX
    await turn()
    assert len(sent) == 2 * HELD_MAX + 3
    assert long.at_once_count == 0, "a crowd, although few were left for its end"


# --- a connection whose answer is held --------------------------------------------------------------------------------


class Crowd:
    """Connections enough, in a turn that holds what they are answered."""

    def __init__(self, world: BrokerWorld, kernel_bytes: int = 1 << 30) -> None:
        self.world = world
        self.others = [world.connect() for _ in range(CROWD)]
        self.peer = world.connect(kernel_bytes)
        world.listener.turn.at_once_count = 0

    def ask(self, correlation_id: int = 1) -> None:
        self.peer.transport.send(metadata(correlation_id))


@pytest.fixture
async def crowd(world: BrokerWorld) -> Crowd:
    return Crowd(world)


def metadata(correlation_id: int) -> bytes:
    return request_frame(MetadataRequest(topics=None), 1, correlation_id)


async def test_all_answers_of_a_turn_leave_at_its_end(crowd: Crowd) -> None:
    crowd.ask(0)
    for number, peer in enumerate(crowd.others, 1):
        peer.transport.send(metadata(number))
    peers = [crowd.peer, *crowd.others]
    assert [peer.numbers() for peer in peers] == [[]] * len(peers)
    await turn()
    assert [peer.numbers() for peer in peers] == [[number] for number in range(len(peers))]


async def test_a_request_of_the_same_turn_is_answered_behind_the_one_that_waits(crowd: Crowd) -> None:
    for number in range(3):
        crowd.ask(number)
    assert crowd.peer.numbers() == [0, 1]
    crowd.peer.transport.send(metadata(3) + metadata(4))
    assert crowd.peer.numbers() == [2, 3, 4]
    await turn()
    assert crowd.peer.numbers() == []


async def test_a_large_answer_leaves_at_once(world: BrokerWorld) -> None:
    for number in range(100):
        world.services.catalogue.create_topic(f"{number}".zfill(100))
    crowd = Crowd(world)
    crowd.ask()
    assert crowd.peer.numbers() == [1]


async def test_a_peer_that_does_not_read_is_not_received_from_after_the_turn(world: BrokerWorld) -> None:
    crowd = Crowd(world, kernel_bytes=10)
    crowd.ask(0)
    assert crowd.peer.transport.is_reading()
    await turn()
    assert not crowd.peer.transport.is_reading()
    assert world.listener.send_memory.unread_bytes > 0
    crowd.ask(1)
    answered: list[int] = []
    while len(answered) < 2:
        answered += crowd.peer.numbers()
        await turn()
    assert answered == [0, 1]
    assert world.listener.send_memory.unread_bytes == 0


@pytest.mark.parametrize("is_bad_request", [False, True])
async def test_a_connection_that_is_closed_sends_what_it_held(crowd: Crowd, is_bad_request: bool) -> None:
    crowd.ask()
    if is_bad_request:
        crowd.peer.transport.send(b"\xff" * 8)
    else:
        crowd.peer.connection.close()
    assert crowd.peer.is_closed
    assert crowd.peer.numbers() == [1]


async def test_a_stop_waits_for_what_is_held(crowd: Crowd) -> None:
    crowd.ask()
    crowd.peer.connection.finish()
    assert not crowd.peer.is_closed
    await turn()
    assert crowd.peer.is_closed
    assert crowd.peer.numbers() == [1]


@pytest.mark.parametrize("end", ["abort", "hang_up"])
async def test_held_responses_of_a_closed_connection_are_discarded(crowd: Crowd, end: str) -> None:
    crowd.ask()
    if end == "abort":
        crowd.peer.connection.abort()
    else:
        crowd.peer.transport.hang_up()
    await turn()
    assert crowd.peer.is_closed
    assert crowd.peer.transport.writes == []


# --- real sockets -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("new_loop", [asyncio.SelectorEventLoop, uvloop.new_event_loop])
def test_every_client_of_a_crowd_is_answered_in_order(new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(asyncio.wait_for(_crowd_is_answered(clients_count=3 * CROWD, requests_count=50), TIMEOUT_S))


async def _crowd_is_answered(clients_count: int, requests_count: int) -> None:
    world = BrokerWorld(network=LoopNetwork())
    held_count = 0

    def send(descriptor: int, data: bytes | bytearray | memoryview) -> int:
        nonlocal held_count
        held_count += world.listener.turn.at_once_count <= 0
        return os.write(descriptor, data)

    world.listener.send = send
    sockets = bind("127.0.0.1", 0)
    await world.listener.listen(sockets, world.dispatcher)
    await asyncio.gather(*(_ask(sockets[0].getsockname(), requests_count) for _ in range(clients_count)))
    assert held_count > clients_count
    await world.close()


async def _ask(address: tuple[str, int], requests_count: int) -> None:
    loop = asyncio.get_running_loop()
    with socket.socket() as client:
        client.setblocking(False)
        await loop.sock_connect(client, address)
        for number in range(requests_count):
            await loop.sock_sendall(client, metadata(number))
            answer = await loop.sock_recv(client, 1 << 16)
            assert int.from_bytes(answer[:4], "big") == len(answer) - 4
            assert int.from_bytes(answer[4:8], "big") == number
