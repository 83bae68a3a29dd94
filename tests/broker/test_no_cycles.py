"""What is over is gone at once, by counting references: it leaves nothing for the garbage collector to find.

Connections, requests, parked requests, logs, members of groups and transactions come and go all the time. Were they
cycles, full collections would come often, and each stops the broker for as long as it takes to look through everything
there is.
"""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from barnabas.broker.http.connection import HttpConnection
from barnabas.broker.http.pages import Page, Pages
from barnabas.broker.http.server import HttpServer
from barnabas.broker.partitions.opening.recoveries import StillRecovering
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.protocol.messages.list_transactions import ListTransactionsRequest
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.messages.produce import ProduceRequest
from barnabas.storage.log.log import PartitionLog
from tests.support.requests import create_topic, end_txn, fetch, init_producer, join_group, produce, sync_group
from tests.support.worlds.broker import ANSWER_TIMEOUT_S, BrokerWorld, Peer, settle
from tests.support.worlds.memory_transport import MemoryTransport

_OURS = ("barnabas.broker", "barnabas.protocol", "barnabas.storage")
_VERSION = 12  # of Produce and Fetch: the last that name topics
_ROUNDS = 3


@contextmanager
def _what_is_left() -> Iterator[list[str]]:
    """Of our objects, what only the garbage collector could free of all that came and went within."""
    left: list[str] = []
    gc.collect()
    gc.disable()
    try:
        yield left
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left += [repr(each)[:200] for each in gc.garbage if _module(each).startswith(_OURS)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def _module(each: object) -> str:
    return str(getattr(each, "__module__", None) or type(each).__module__)


async def _ask(peer: Peer, request: Request, version: int) -> Any:
    await peer.put(request, version)
    if not peer.transport.written.is_set():
        await peer.until_answered()
    return peer.answer()


async def _hang_up(peer: Peer) -> None:
    peer.transport.hang_up()
    await settle()
    assert peer.is_closed


def _produce(world: BrokerWorld, topic: str = "t", **batch: Any) -> ProduceRequest:
    return produce(world.batch(b"v", **batch), topic, transactional_id="x" if batch else None)


def _fetch(topic: str = "t", offset: int = 1_000) -> FetchRequest:
    return fetch(topic=topic, offset=offset, wait_ms=500)


async def _requests(world: BrokerWorld) -> None:
    peer = world.connect()
    await _ask(peer, MetadataRequest(topics=None), 9)
    await _ask(peer, _produce(world), _VERSION)
    await _ask(peer, _fetch(offset=0), _VERSION)
    await _ask(peer, ListTransactionsRequest(state_filters=[], producer_id_filters=[]), 0)
    await _hang_up(peer)


async def _refusals(world: BrokerWorld) -> None:
    peer = world.connect()
    refused = ListTransactionsRequest(state_filters=[], producer_id_filters=[], transactional_id_pattern="(")
    assert (await _ask(peer, refused, 2)).error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    await _ask(peer, _produce(world, "nowhere"), _VERSION)
    peer.transport.send(b"\x7f\xff\xff\xff")
    await settle()
    assert peer.is_closed


async def _unfinished_frames(world: BrokerWorld) -> None:
    for size in (3, 100, 200_000):
        peer = world.connect()
        peer.transport.send((1 << 20).to_bytes(4, "big") + bytes(size))
        await _hang_up(peer)


async def _peers_that_do_not_read(world: BrokerWorld) -> None:
    peer = world.connect(kernel_bytes=10)
    await peer.put(MetadataRequest(topics=None), 9)
    peer.connection.abort()
    await settle()
    assert peer.is_closed


async def _parked_requests(world: BrokerWorld) -> None:
    abandoned, late, woken = world.connect(), world.connect(), world.connect()
    for peer in (abandoned, late):
        peer.ask(_fetch(), _VERSION)
    await _hang_up(abandoned)
    await world.advance(500)
    assert late.answer().error_code == ErrorCode.NONE
    log = world.services.partitions.get("t", 0)
    woken.ask(_fetch(offset=log.log_end_offset), _VERSION)
    await _ask(late, _produce(world), _VERSION)
    assert woken.answer().error_code == ErrorCode.NONE
    for peer in (late, woken):
        await _hang_up(peer)


async def _members(world: BrokerWorld) -> None:
    """One comes and leaves, one falls silent, one hangs up while it waits."""
    peer, other = world.connect(), world.connect()
    ids = [(await _ask(each, join_group(), 5)).member_id for each in (peer, other)]
    for each, member_id in zip((peer, other), ids, strict=True):
        each.ask(join_group("g", member_id), 5)
    await settle()
    await world.advance(0)
    generation_id = peer.answer().generation_id
    other.frames()
    other.ask(sync_group("g", generation_id, ids[1], {}), 3)
    await _hang_up(other)
    left = await _ask(peer, LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id=ids[0])]), 3)
    assert left.members[0].error_code == ErrorCode.NONE
    await _hang_up(peer)
    await world.advance(20_000)
    group = world.services.groups.describe("g")
    assert group is not None
    assert group.members == {}


async def _transactions(world: BrokerWorld) -> None:
    peer = world.connect()
    initialise = init_producer("x")
    got = await _ask(peer, initialise, 4)
    async with asyncio.timeout(ANSWER_TIMEOUT_S):
        while got.error_code == ErrorCode.CONCURRENT_TRANSACTIONS:  # the markers of the one before are on their way
            got = await _ask(peer, initialise, 4)
    assert got.error_code == ErrorCode.NONE
    producer = got.producer_id, got.producer_epoch
    await _ask(peer, _produce(world, producer=(*producer, 0), transactional=True), _VERSION)
    assert (await _ask(peer, end_txn("x", producer), 5)).error_code == ErrorCode.NONE
    await _hang_up(peer)


async def _deleted_topics(world: BrokerWorld) -> None:
    peer, reader = world.connect(), world.connect()
    world.services.catalogue.create_topic("brief", 2)
    await _ask(peer, _produce(world, "brief"), _VERSION)
    reader.ask(_fetch("brief", 1), _VERSION)
    await _ask(peer, DeleteTopicsRequest(topic_names=["brief"], timeout_ms=1_000), 5)
    for each in (peer, reader):
        await _hang_up(each)
    world.clock.advance(120_000)  # and their files
    await settle()


async def _refused_topics(world: BrokerWorld) -> None:
    """Each for itself, since it is there; and all together, since the disk is full."""
    peer, disk = world.connect(), world.services.partitions.directory.root.disk
    creation = create_topic("t")
    more = CreatePartitionsTopic(name="t", count=1, assignments=None)
    growth = CreatePartitionsRequest(topics=[more], timeout_ms=1_000, validate_only=False)
    assert (await _ask(peer, creation, 7)).topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS
    assert (await _ask(peer, growth, 3)).results[0].error_code == ErrorCode.INVALID_PARTITIONS
    disk.full_reason = "the disk is full"
    assert (await _ask(peer, creation, 7)).topics[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert (await _ask(peer, growth, 3)).results[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    disk.full_reason = None
    await _hang_up(peer)


async def _recovering_partitions(world: BrokerWorld) -> None:
    partitions = world.services.partitions

    def refuse(_: object, topic: str, partition: int) -> PartitionLog:
        raise StillRecovering(topic, partition, partitions.recoveries)

    peer = world.connect()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(type(partitions), "get_led", refuse)
        answer = await _ask(peer, _produce(world), _VERSION)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    await _hang_up(peer)


async def _closed_logs(world: BrokerWorld) -> None:
    partitions = world.services.partitions
    partitions.get("t", 1)
    partitions.close("t", 1)


async def _http(world: BrokerWorld) -> None:
    async def scrape() -> bytes:
        return b""

    server = HttpServer(world.clock, Pages(world.clock, lambda: None, scrape, lambda _: Page(404, b"")))
    for path in (b"/ready", b"/metrics", b"/nowhere"):
        peer = MemoryTransport(HttpConnection(server))
        peer.send(b"GET " + path + b" HTTP/1.1\r\nHost: x\r\n\r\n")
        await settle()
        assert peer.read().startswith(b"HTTP/1.1 ")
        peer.hang_up()
        await settle()
        assert peer.is_lost


_STORIES = [
    _http,
    _requests,
    _refusals,
    _unfinished_frames,
    _peers_that_do_not_read,
    _parked_requests,
    _members,
    _transactions,
    _deleted_topics,
    _refused_topics,
    pytest.param(_recovering_partitions, marks=pytest.mark.pure),  # it replaces a method
    _closed_logs,
]


@pytest.mark.parametrize("flush_messages", ["1", str((1 << 63) - 1)])
@pytest.mark.parametrize("story", _STORIES, ids=lambda story: story.__name__.strip("_"))
async def test_nothing_waits_for_the_garbage_collector(
    story: Callable[[BrokerWorld], Awaitable[None]], flush_messages: str
) -> None:
    world = BrokerWorld({"log.flush.interval.messages": flush_messages}, topics={"t": 2})
    await story(world)  # what it imports and builds for ever
    with _what_is_left() as left:
        for _ in range(_ROUNDS):
            await story(world)
    assert left == []
