"""OffsetCommit and OffsetFetch of very many partitions, over several turns: all of a commit is seen, or nothing."""

from itertools import count

import pytest

from barnabas.broker.coordinator.group.group_decisions import RECORDS_AT_ONCE
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
)
from tests.support import requests
from tests.support.worlds.broker import BrokerWorld, Peer, settle, turn, until

MANY = 2 * RECORDS_AT_ONCE


@pytest.fixture
async def world() -> BrokerWorld:
    """One whose slices have few steps each."""
    world = BrokerWorld(stopwatch=count(0.0, 0.0015).__next__, topics={"wide": MANY})
    _commit(world, 0)
    await until(lambda: _committed(world) == {0})
    await settle()
    return world


def _commit(world: BrokerWorld, offset: int) -> Peer:
    return world.asking(requests.commit("g", offset, "wide", *range(MANY)), 9)


def _committed(world: BrokerWorld) -> set[int]:
    found = world.services.groups.fetch_offsets("g").offsets.get("wide", {})
    assert len(found) in (0, MANY)
    return {each.offset for each in found.values()}


async def test_commits_of_a_group_are_made_whole_and_in_their_order(world: BrokerWorld) -> None:
    seen = [_committed(world)]
    peers = [_commit(world, offset) for offset in (1, 2)]
    while not all(peer.transport.written.is_set() for peer in peers):
        await turn()
        if (now := _committed(world)) != seen[-1]:
            seen.append(now)
    assert seen == [{0}, {1}, {2}]
    for peer in peers:
        (topic,) = peer.answer().topics
        assert [each.error_code for each in topic.partitions] == [ErrorCode.NONE] * MANY


@pytest.mark.parametrize("version", [7, 9])
@pytest.mark.parametrize("is_all", [False, True])
async def test_a_fetch_tells_of_one_moment(world: BrokerWorld, version: int, is_all: bool) -> None:
    wanted = list(range(MANY))
    request = requests.offset_fetch("g", *([] if is_all else [("wide", wanted)]))
    if version < 8:
        topics = None if is_all else [OffsetFetchRequestTopic(name="wide", partition_indexes=wanted)]
        request = OffsetFetchRequest(group_id="g", topics=topics)
    peer = world.asking(request, version)
    await until(lambda: world.services.request_scheduler.under_way)
    _commit(world, 1)
    await peer.until_answered()
    await until(lambda: _committed(world) == {1})
    answer = peer.answer()
    (topic,) = answer.topics if version < 8 else answer.groups[0].topics
    assert [each.committed_offset for each in topic.partitions] == [0] * MANY
