"""What several nodes of one process have to share, and what a node that stops gives back."""

import asyncio
import gc
import random
from collections.abc import AsyncIterator

import pytest

from barnabas.broker.api.dispatch import Dispatcher
from barnabas.broker.config import BrokerConfig
from barnabas.broker.config.listeners.listeners import Listener
from barnabas.broker.network.bound_sockets import BoundAddress, bind_nodes, close_sockets
from barnabas.broker.network.connection import Connection
from barnabas.broker.server.broker import Broker
from barnabas.broker.server.data_directories import sockets_max
from barnabas.broker.server.environment import Environment
from barnabas.broker.server.start import start_broker
from barnabas.protocol.security.listener_protocols import PLAINTEXT
from tests.broker.metadata.cluster.test_moving import switch
from tests.support.files.memory_files import MemoryFiles
from tests.support.virtual_clock import VirtualClock
from tests.support.worlds.broker import BrokerWorld, Peer, settle, until
from tests.support.worlds.memory_network import MemoryNetwork
from tests.support.worlds.memory_transport import MemoryTransport

LIMIT = 100
NODES = 3


async def test_the_nodes_share_the_descriptors_of_their_process() -> None:
    environment = Environment(
        clock=VirtualClock(), files=MemoryFiles(0), network=MemoryNetwork(), random=random.Random(0).randbytes
    )
    addresses = [Listener(PLAINTEXT, "127.0.0.1", 9092 + number, PLAINTEXT) for number in range(NODES)]
    bound = [[BoundAddress(address, address, [])] for address in addresses]
    config = BrokerConfig({"log.dirs": "/data"})
    broker = await start_broker(config, bound[0], descriptor_limit=LIMIT, environment=environment, others=bound[1:])
    room = sockets_max(LIMIT)
    for member in broker.members:
        peers = [
            Peer(MemoryTransport(Connection(member.listener, Dispatcher(member.services)), 1 << 30))
            for _ in range(room)
        ]
        await settle()
        assert sum(not peer.is_closed for peer in peers) == room // NODES
    await broker.stop()


def test_every_node_may_have_a_connection() -> None:
    assert sockets_max(0, 100) == 1


@pytest.fixture
async def on_sockets() -> AsyncIterator[Broker]:
    """Nodes on ports of this machine."""
    config = BrokerConfig({"log.dirs": "/data", "listeners": "PLAINTEXT://127.0.0.1:0"})
    environment = Environment(clock=VirtualClock(), files=MemoryFiles(0), random=random.Random(0).randbytes)
    bound = bind_nodes(config, NODES)
    broker = await start_broker(config, bound[0], descriptor_limit=LIMIT, environment=environment, others=bound[1:])
    yield broker
    await broker.stop()
    for member in broker.members:
        for each in member.bound:
            close_sockets(each)


@pytest.mark.parametrize("is_stopped", [True, False])
async def test_a_node_that_is_started_and_stopped_in_one_turn_is_what_it_was_told_to_be_last(
    on_sockets: Broker, is_stopped: bool
) -> None:
    assert on_sockets.shared_storage is not None
    assert on_sockets.lifecycle is not None
    nodes, lifecycle = on_sockets.shared_storage.nodes, on_sockets.lifecycle
    failures: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
    port = on_sockets.members[1].bound[0].port
    nodes.have_stopped(lambda _: {2})
    await lifecycle.settled()
    for _ in range(2):
        nodes.have_stopped(lambda _: set())
        nodes.have_stopped(lambda _: {2})
    if not is_stopped:
        nodes.have_stopped(lambda _: set())
    await lifecycle.settled()
    gc.collect()  # a task that failed and was not asked says so when it is gone
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except ConnectionRefusedError:
        assert is_stopped
    else:
        assert not is_stopped
        await until(lambda: on_sockets.members[1].listener.connections_count == 1)
        writer.close()
    assert failures == []


async def test_a_node_that_stops_leaves_no_timer_behind() -> None:
    world = BrokerWorld(nodes=NODES)
    await world.broker.start()
    await switch(world, 2, "true")
    await switch(world, 2, "false")
    world.clock.advance(60_000)
    before = world.clock.pending_timers()
    for _ in range(5):
        await switch(world, 2, "true")
        await switch(world, 2, "false")
    world.clock.advance(60_000)
    assert world.clock.pending_timers() == before
