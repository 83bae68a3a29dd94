"""OffsetCommit and OffsetFetch in all their versions, and the APIs that look after groups."""

from typing import Any

import pytest

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.list_groups import ListGroupsRequest
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
from barnabas.protocol.primitives import ZERO_UUID
from tests.support.worlds.group_api import GroupApi

E = ErrorCode
_COMMIT_VERSIONS = range(2, 11)
_FETCH_VERSIONS = range(1, 11)
_EPOCH = 4
_FOREVER_MS = (1 << 63) - 1


def _topic(api: GroupApi, name: str, version: int, *partitions: tuple[int, int]) -> OffsetCommitRequestTopic:
    known = api.topic_id(name) if name in api.catalogue.topics else b"\x7f" * 16
    return OffsetCommitRequestTopic(
        name=name if version < 10 else "",
        topic_id=known if version >= 10 else ZERO_UUID,
        partitions=[
            OffsetCommitRequestPartition(
                partition_index=index, committed_offset=offset, committed_leader_epoch=_EPOCH, committed_metadata=None
            )
            for index, offset in partitions
        ],
    )


def _commit(*topics: OffsetCommitRequestTopic, **fields: Any) -> OffsetCommitRequest:
    return OffsetCommitRequest(**({"group_id": "g", "member_id": "", "topics": list(topics)} | fields))


def _codes(response: Any) -> list[list[int]]:
    return [[partition.error_code for partition in topic.partitions] for topic in response.topics]


def _fetch(api: GroupApi, version: int, topics: dict[str, list[int]]) -> list[Any]:
    """The topics of the answer for one group."""
    if version < 8:
        asked = [OffsetFetchRequestTopic(name=name, partition_indexes=indexes) for name, indexes in topics.items()]
        response = api.ask(OffsetFetchRequest(group_id="g", topics=asked), version)
        assert response.error_code == E.NONE
        return list(response.topics)
    wanted = [
        OffsetFetchRequestTopics(
            name=name if version < 10 else "",
            topic_id=api.topic_id(name) if version >= 10 else ZERO_UUID,
            partition_indexes=indexes,
        )
        for name, indexes in topics.items()
    ]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=wanted)])
    (group,) = api.ask(request, version).groups
    assert (group.group_id, group.error_code) == ("g", E.NONE)
    return list(group.topics)


@pytest.mark.parametrize("version", _COMMIT_VERSIONS)
def test_a_commit_of_every_version_is_kept(api: GroupApi, version: int) -> None:
    request = _commit(_topic(api, "t", version, (0, 5), (2, 7)), _topic(api, "u", version, (0, 9)))
    response = api.ask(request, version)
    assert _codes(response) == [[E.NONE, E.NONE], [E.NONE]]
    assert api.world.committed() == {("t", 0): 5, ("t", 2): 7, ("u", 0): 9}
    committed = api.world.coordinator.fetch_offsets("g").offsets["t"][0]
    assert committed.leader_epoch == (_EPOCH if version >= 6 else -1)
    assert committed.topic_id == api.topic_id("t")
    assert committed.metadata == ""


@pytest.mark.parametrize(("version", "retention_ms"), [(2, 60_000), (4, 60_000), (4, _FOREVER_MS)])
def test_an_expiry_of_its_own_is_counted_from_now_until_the_end_of_time(
    api: GroupApi, version: int, retention_ms: int
) -> None:
    api.ask(_commit(_topic(api, "t", version, (0, 1)), retention_time_ms=retention_ms), version)
    committed = api.world.coordinator.fetch_offsets("g").offsets["t"][0]
    assert committed.expire_timestamp_ms == min(api.world.clock.now_ms() + retention_ms, _FOREVER_MS)


def test_a_commit_that_the_disk_refuses_is_refused_for_every_partition(api: GroupApi) -> None:
    api.world.topic.refuse_with = E.KAFKA_STORAGE_ERROR
    request = _commit(_topic(api, "t", 9, (0, 1), (7, 1)))
    assert _codes(api.ask(request, 9)) == [[E.NOT_COORDINATOR, E.UNKNOWN_TOPIC_OR_PARTITION]]


def test_a_commit_whose_sync_fails_is_refused_for_every_partition(api: GroupApi) -> None:
    api.world.topic.loop = api.world.loop
    waiting = api.begin(_commit(_topic(api, "t", 9, (0, 1))), 9)
    assert not waiting.done()
    api.world.topic.sync(failure=KafkaError(E.KAFKA_STORAGE_ERROR))
    for _ in range(3):
        api.world.settle()
    assert _codes(waiting.result()) == [[E.NOT_COORDINATOR]]


@pytest.mark.parametrize("failure", [None, KafkaError(E.KAFKA_STORAGE_ERROR)])
def test_an_offset_is_reported_once_it_is_on_disk(api: GroupApi, failure: KafkaError | None) -> None:
    api.world.topic.loop = api.world.loop
    committing = api.begin(_commit(_topic(api, "t", 9, (0, 5))), 9)
    asked = OffsetFetchRequestGroup(group_id="g", topics=[OffsetFetchRequestTopics(name="t", partition_indexes=[0])])
    fetching = api.begin(OffsetFetchRequest(groups=[asked]), 9)
    listing = api.begin(ListGroupsRequest(), 4)
    for _ in range(3):
        api.world.settle()
    assert not any(answer.done() for answer in (committing, fetching, listing))
    api.world.topic.sync(failure)
    for _ in range(3):
        api.world.settle()
    if failure is None:
        assert fetching.result().groups[0].topics[0].partitions[0].committed_offset == 5
        assert [group.group_id for group in listing.result().groups] == ["g"]
    else:
        assert fetching.result().groups[0].error_code == listing.result().error_code == E.NOT_COORDINATOR


@pytest.mark.parametrize("version", _FETCH_VERSIONS)
def test_committed_offsets_are_fetched_in_every_version(api: GroupApi, version: int) -> None:
    api.ask(_commit(_topic(api, "t", 9, (0, 5), (1, 6))), 9)
    (topic,) = _fetch(api, version, {"t": [1, 2]})
    assert (topic.topic_id == api.topic_id("t")) if version >= 10 else (topic.name == "t")
    found = [(each.partition_index, each.committed_offset, each.error_code) for each in topic.partitions]
    assert found == [(1, 6, E.NONE), (2, -1, E.NONE)]
    if version >= 5:
        assert [each.committed_leader_epoch for each in topic.partitions] == [_EPOCH, -1]
