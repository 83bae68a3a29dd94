"""Fetch of so many partitions that it is read over several turns: nothing that happens meanwhile is missed."""

from itertools import count

import pytest

from barnabas.broker.api.handlers import fetch as handler
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.fetch import FetchRequest
from tests.support.requests import fetch
from tests.support.worlds.broker import BrokerWorld, Peer, settle, until

MANY = 1_001
assert handler._READ_AT_ONCE_MAX < MANY


@pytest.fixture
async def world() -> BrokerWorld:
    """One whose slices have few steps each."""
    return BrokerWorld(stopwatch=count(0.0, 0.0004).__next__)


def _asked(world: BrokerWorld, wait_ms: int = 60_000, **more: int) -> tuple[Peer, FetchRequest]:
    if not world.services.partitions.exists("wide", 0):
        world.services.catalogue.create_topic("wide", MANY)
    found = world.services.catalogue.topics["wide"].topic_id
    return world.connect(), fetch(*range(MANY), topic="wide", topic_id=found, wait_ms=wait_ms, **more)


def _found(peer: Peer) -> list[int]:
    (topic,) = peer.answer().responses
    assert [each.partition_index for each in topic.partitions] == list(range(MANY))
    assert {each.error_code for each in topic.partitions} == {ErrorCode.NONE}
    return [each.partition_index for each in topic.partitions if each.records]


async def test_all_partitions_are_answered_in_their_order(world: BrokerWorld) -> None:
    peer, request = _asked(world, wait_ms=0)
    for index in (0, MANY - 1):
        world.append("wide", b"v", partition=index)
    peer.ask(request)
    await peer.until_answered()
    assert _found(peer) == [0, MANY - 1]


@pytest.mark.parametrize("is_read", [False, True])
@pytest.mark.parametrize("min_bytes", [1, 60])
async def test_no_append_to_a_partition_is_missed(world: BrokerWorld, is_read: bool, min_bytes: int) -> None:
    """While others are being read, or when all are: both end the wait."""
    peer, request = _asked(world, min_bytes=min_bytes)
    for index in range(MANY):
        world.services.partitions.get("wide", index)
    peer.ask(request)
    await until(lambda: world.services.request_scheduler.under_way)
    await until(lambda: not is_read or world.services.request_scheduler.are_over)
    assert not peer.transport.written.is_set()
    world.append("wide", b"v", partition=0)
    await peer.until_answered()
    assert _found(peer) == [0]


async def test_one_with_nothing_to_read_is_answered_when_its_time_is_over(world: BrokerWorld) -> None:
    peer, request = _asked(world)
    peer.ask(request)
    await until(lambda: world.services.request_scheduler.under_way)
    await until(lambda: world.services.request_scheduler.are_over)
    await settle()
    await world.advance(60_000)
    await peer.until_answered()
    assert _found(peer) == []


@pytest.mark.parametrize("is_read", [False, True])
async def test_nothing_stays_of_one_whose_client_has_gone(world: BrokerWorld, is_read: bool) -> None:
    peer, request = _asked(world)
    peer.ask(request)
    await until(lambda: world.services.request_scheduler.under_way)
    await until(lambda: not is_read or world.services.request_scheduler.are_over)
    await settle()
    peer.transport.hang_up()
    await settle()
    assert world.services.request_scheduler.are_over
    assert len(world.services.purgatory) == 0
