"""Which commits and fetches of offsets a streams group takes from its members."""

import pytest

from barnabas.broker.coordinator.group.decisions.classic.model import CommitRequest, OffsetToCommit
from barnabas.broker.coordinator.group.decisions.offsets.admission import (
    commit_refusal,
    fetch_refusal,
    may_have_offsets,
    transactional_refusal,
)
from barnabas.broker.coordinator.group.decisions.streams.group import StreamsGroup
from barnabas.broker.coordinator.group.decisions.streams.tasks import TaskSets
from barnabas.protocol.errors import ErrorCode as E
from tests.support.worlds.streams_world import GROUP_ID, StreamsWorld, tasks


def commit(epoch: int, member_id: str = "m", topic: str = "words", partition: int = 0, **more: bool) -> CommitRequest:
    offset = OffsetToCommit(topic, b"\1" * 16, partition, 7, -1, "")
    return CommitRequest(GROUP_ID, epoch, member_id, None, (offset,), **more)


@pytest.fixture
def group() -> StreamsGroup:
    """Member m has had partition 0 since epoch 2, and is in epoch 3; n has partition 1 since epoch 3."""
    world = StreamsWorld(
        {"words": 2, "by-word": 2, "counts": 2}, initial_rebalance_delay_ms=0, assignment_interval_ms=0
    )
    world.join("m")
    world.join("n")
    world.heartbeat("m", 2)
    world.heartbeat("m", 2, owned=tasks({"0": [0], "1": [0]}))
    world.heartbeat("n", 3, owned=TaskSets())
    return world.group


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (commit(3), E.NONE),
        (commit(2), E.NONE),  # an older epoch, for a task that the member had in it
        (commit(1), E.STALE_MEMBER_EPOCH),
        (commit(2, partition=1), E.STALE_MEMBER_EPOCH),
        (commit(2, topic="other"), E.STALE_MEMBER_EPOCH),
        (commit(2, "n", partition=1), E.STALE_MEMBER_EPOCH),
        (commit(4), E.STALE_MEMBER_EPOCH),
        (commit(3, "x"), E.UNKNOWN_MEMBER_ID),
        (commit(-1, ""), E.UNKNOWN_MEMBER_ID),
        (commit(3, has_member_epoch=False), E.UNSUPPORTED_VERSION),
    ],
)
def test_a_commit_needs_a_member_in_an_epoch_of_its_task(group: StreamsGroup, request_: CommitRequest, code: E) -> None:
    assert commit_refusal(group, request_, request_.offsets) is code


def test_a_transaction_commits_with_or_without_a_member(group: StreamsGroup) -> None:
    for request, code in ((commit(3), E.NONE), (commit(-1, ""), E.NONE), (commit(1), E.STALE_MEMBER_EPOCH)):
        assert transactional_refusal(group, request, request.offsets) is code


def test_an_empty_group_takes_commits_of_an_administrator() -> None:
    empty = StreamsGroup(GROUP_ID)
    assert may_have_offsets(empty)
    assert commit_refusal(empty, commit(-1, ""), ()) is E.NONE


@pytest.mark.parametrize(
    ("member_id", "epoch", "code"),
    [(None, -1, E.NONE), ("m", 3, E.NONE), ("m", 2, E.STALE_MEMBER_EPOCH), ("x", 3, E.UNKNOWN_MEMBER_ID)],
)
def test_a_fetch_needs_the_current_epoch(group: StreamsGroup, member_id: str | None, epoch: int, code: E) -> None:
    assert fetch_refusal(group, member_id, epoch) is code
