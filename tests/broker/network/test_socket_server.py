"""The listener on real sockets, on the standard library's event loop: both localhosts, large answers, stopping."""

import asyncio
import errno
import gc
import socket
from typing import Any

import pytest

from barnabas.broker.network.bound_sockets import bind
from barnabas.broker.network.connection import Connection
from barnabas.broker.network.network import LoopNetwork
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.headers import parse_response_header
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.registry import ApiKey, response_codec
from tests.support.requests import BY_NAME, fetch
from tests.support.worlds.broker import BrokerWorld, request_frame, turn

TIMEOUT_S = 30


class Running:
    """A broker in memory whose listener is real."""

    def __init__(self) -> None:
        self.world = BrokerWorld(network=LoopNetwork())
        self.world.services.catalogue.create_topic("t")
        self.sockets = bind("127.0.0.1", 0)
        self.port: int = self.sockets[0].getsockname()[1]

    async def start(self) -> None:
        await self.world.listener.listen(self.sockets, self.world.dispatcher)

    async def ask(self, request: Request, version: int, host: str = "127.0.0.1") -> Any:
        """One exchange on a connection of its own."""
        reader, writer = await asyncio.open_connection(host, self.port)
        writer.write(request_frame(request, version))
        size = int.from_bytes(await asyncio.wait_for(reader.readexactly(4), TIMEOUT_S), "big")
        frame = await asyncio.wait_for(reader.readexactly(size), TIMEOUT_S)
        writer.close()
        key = ApiKey(request.__schema__.key or 0)
        _, position = parse_response_header(key, version, frame)
        return response_codec(key, version).decode(frame, position)[0]


def _connections() -> list[Connection]:
    """All there are in this process."""
    return [each for each in gc.get_objects() if type(each) is Connection]


@pytest.fixture
async def running() -> Running:
    running = Running()
    await running.start()
    return running


async def test_both_localhosts_are_served_on_the_same_port(running: Running) -> None:
    hosts = [each.getsockname()[0] for each in running.sockets]
    assert hosts[0] == "127.0.0.1"
    for host in hosts:
        answer = await running.ask(MetadataRequest(topics=None), 1, host)
        assert [topic.name for topic in answer.topics] == ["t"]


async def test_a_closed_connection_is_gone_without_the_garbage_collector(running: Running) -> None:
    gc.collect()
    gc.disable()
    others = _connections()
    try:
        for _ in range(3):
            await running.ask(MetadataRequest(topics=None), 1)
        async with asyncio.timeout(TIMEOUT_S):
            while any(each not in others for each in _connections()):
                await turn()
    finally:
        gc.enable()


async def test_a_large_answer_arrives_whole(running: Running) -> None:
    values = [bytes([number]) * 900_000 for number in range(5)]
    for value in values:
        running.world.services.partitions.append("t", 0, bytearray(running.world.batch(value)))
    answer = await running.ask(fetch(max_bytes=50 << 20), BY_NAME)
    records = bytes(answer.responses[0].partitions[0].records)
    positions = [records.find(value) for value in values]
    assert positions == sorted(positions)
    assert positions[0] > 0


async def test_a_stop_closes_the_port_and_every_connection(running: Running) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    await running.ask(MetadataRequest(topics=[]), 1)
    await running.world.close()
    assert await asyncio.wait_for(reader.read(), TIMEOUT_S) == b""
    writer.close()
    with pytest.raises(OSError, match=r"refused|Connect call failed"):
        await asyncio.open_connection("127.0.0.1", running.port)


def test_a_port_that_is_taken_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(OSError, match="in use") as refused:
        bind("127.0.0.1", other.getsockname()[1])
    assert refused.value.errno == errno.EADDRINUSE


def test_a_host_that_can_have_no_such_name_is_an_error() -> None:
    for host in ("a..b", "a" * 64):
        with pytest.raises(OSError, match="no name of a host can be like that"):
            bind(host, 0)


@pytest.mark.parametrize("host", ["", "0.0.0.0", "localhost", "127.0.0.1"])
def test_a_free_port_is_found_for_every_kind_of_host(host: str) -> None:
    sockets = bind(host, 0)
    assert len({each.getsockname()[1] for each in sockets}) == 1
    assert sockets[0].getsockname()[1] > 0
    for each in sockets:
        each.close()
