"""OffsetCommit and OffsetFetch of very many partitions, over several turns: all of a commit is seen, or nothing."""

from itertools import count
from typing import Any

import pytest

from barnabas.broker.coordinator.consumer_groups import RECORDS_AT_ONCE
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from tests.support.worlds.broker import BrokerWorld, Peer, settle, turn, until

MANY = 2 * RECORDS_AT_ONCE


@pytest.fixture
async def world() -> BrokerWorld:
    """One whose slices have few steps each."""
    world = BrokerWorld(stopwatch=count(0.0, 0.0015).__next__)
    world.services.catalogue.create_topic("wide", MANY)
    _commit(world, 0)
    await until(lambda: _committed(world) == {0})
    await settle()
    return world


def _commit(world: BrokerWorld, offset: int) -> Peer:
    made = OffsetCommitRequestPartition
    partitions = [made(partition_index=each, committed_offset=offset, committed_metadata="") for each in range(MANY)]
    peer = world.connect()
    topics = [OffsetCommitRequestTopic(name="wide", partitions=partitions)]
    peer.ask(OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=-1, member_id="", topics=topics), 9)
    return peer


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
    kind = OffsetFetchRequestTopic if version < 8 else OffsetFetchRequestTopics
    topics: Any = None if is_all else [kind(name="wide", partition_indexes=list(range(MANY)))]
    asked = {"group_id": "g", "topics": topics}
    request = (
        OffsetFetchRequest(**asked) if version < 8 else OffsetFetchRequest(groups=[OffsetFetchRequestGroup(**asked)])
    )
    peer = world.connect()
    peer.ask(request, version)
    await until(lambda: world.services.slices.under_way)
    _commit(world, 1)
    await peer.until_answered()
    await until(lambda: _committed(world) == {1})
    answer = peer.answer()
    (topic,) = answer.topics if version < 8 else answer.groups[0].topics
    assert [each.committed_offset for each in topic.partitions] == [0] * MANY
