"""OffsetCommit and OffsetFetch in all their versions, and the APIs that look after groups."""

from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
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


@pytest.fixture
def api() -> Iterator[GroupApi]:
    api = GroupApi()
    yield api
    api.close()


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


def _fetch(api: GroupApi, version: int, topics: dict[str, list[int]] | None, group_id: str = "g") -> list[Any]:
    """The topics of the answer for one group."""
    if version < 8:
        asked = None
        if topics is not None:
            asked = [OffsetFetchRequestTopic(name=name, partition_indexes=indexes) for name, indexes in topics.items()]
        response = api.ask(OffsetFetchRequest(group_id=group_id, topics=asked), version)
        assert response.error_code == E.NONE
        return list(response.topics)
    wanted = None
    if topics is not None:
        wanted = [
            OffsetFetchRequestTopics(
                name=name if version < 10 else "",
                topic_id=api.topic_id(name) if version >= 10 else ZERO_UUID,
                partition_indexes=indexes,
            )
            for name, indexes in topics.items()
        ]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group_id, topics=wanted)])
    (group,) = api.ask(request, version).groups
    assert (group.group_id, group.error_code) == (group_id, E.NONE)
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


@pytest.mark.parametrize("version", _COMMIT_VERSIONS)
def test_unknown_topics_and_partitions_are_refused_and_the_others_committed(api: GroupApi, version: int) -> None:
    request = _commit(_topic(api, "t", version, (3, 1), (-1, 1), (1, 1)), _topic(api, "nowhere", version, (0, 1)))
    unknown_topic = E.UNKNOWN_TOPIC_ID if version >= 10 else E.UNKNOWN_TOPIC_OR_PARTITION
    expected = [[E.UNKNOWN_TOPIC_OR_PARTITION, E.UNKNOWN_TOPIC_OR_PARTITION, E.NONE], [unknown_topic]]
    assert _codes(api.ask(request, version)) == expected
    assert api.world.committed() == {("t", 1): 1}


@pytest.mark.parametrize("version", _COMMIT_VERSIONS)
def test_a_member_of_no_group_is_told_so(api: GroupApi, version: int) -> None:
    request = _commit(_topic(api, "t", version, (0, 1)), generation_id_or_member_epoch=3, member_id="m")
    expected = E.GROUP_ID_NOT_FOUND if version >= 9 else E.ILLEGAL_GENERATION
    assert _codes(api.ask(request, version)) == [[expected]]
    assert api.world.committed() == {}


@pytest.mark.parametrize("version", [2, 4])
def test_an_expiry_of_its_own_is_counted_from_now(api: GroupApi, version: int) -> None:
    api.ask(_commit(_topic(api, "t", version, (0, 1)), retention_time_ms=60_000), version)
    committed = api.world.coordinator.fetch_offsets("g").offsets["t"][0]
    assert committed.expire_timestamp_ms == api.world.clock.now_ms() + 60_000


def test_an_expiry_after_the_end_of_time_is_at_the_end_of_time(api: GroupApi) -> None:
    api.ask(_commit(_topic(api, "t", 4, (0, 1)), retention_time_ms=(1 << 63) - 1), 4)
    assert api.world.coordinator.fetch_offsets("g").offsets["t"][0].expire_timestamp_ms == (1 << 63) - 1


def test_the_empty_group_id_may_commit_and_fetch(api: GroupApi) -> None:
    assert _codes(api.ask(_commit(_topic(api, "t", 9, (0, 1)), group_id=""), 9)) == [[E.NONE]]
    (topic,) = _fetch(api, 9, {"t": [0]}, group_id="")
    assert topic.partitions[0].committed_offset == 1


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
def test_an_offset_is_told_once_it_is_on_disk(api: GroupApi, failure: KafkaError | None) -> None:
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
def test_what_was_committed_is_fetched_in_every_version(api: GroupApi, version: int) -> None:
    api.ask(_commit(_topic(api, "t", 9, (0, 5), (1, 6))), 9)
    (topic,) = _fetch(api, version, {"t": [1, 2]})
    assert (topic.topic_id == api.topic_id("t")) if version >= 10 else (topic.name == "t")
    found = [(each.partition_index, each.committed_offset, each.error_code) for each in topic.partitions]
    assert found == [(1, 6, E.NONE), (2, -1, E.NONE)]
    if version >= 5:
        assert [each.committed_leader_epoch for each in topic.partitions] == [_EPOCH, -1]


@pytest.mark.parametrize("version", [version for version in _FETCH_VERSIONS if version >= 2])
def test_null_topics_are_everything(api: GroupApi, version: int) -> None:
    api.ask(_commit(_topic(api, "t", 9, (0, 5), (1, 6)), _topic(api, "u", 9, (0, 7))), 9)
    found = [[each.committed_offset for each in topic.partitions] for topic in _fetch(api, version, None)]
    assert found == [[5, 6], [7]]


@pytest.mark.parametrize("version", _FETCH_VERSIONS)
def test_an_unknown_group_is_no_error(api: GroupApi, version: int) -> None:
    (topic,) = _fetch(api, version, {"t": [0]}, group_id="nobody")
    assert [(each.committed_offset, each.metadata, each.error_code) for each in topic.partitions] == [(-1, "", E.NONE)]


def test_an_unknown_topic_id_is_told_per_partition(api: GroupApi) -> None:
    wanted = OffsetFetchRequestTopics(topic_id=b"\x7f" * 16, partition_indexes=[0, 1])
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=[wanted])])
    (topic,) = api.ask(request, 10).groups[0].topics
    assert [each.error_code for each in topic.partitions] == [E.UNKNOWN_TOPIC_ID, E.UNKNOWN_TOPIC_ID]


def test_an_offset_of_an_earlier_topic_of_the_name_does_not_count_for_the_new_id(api: GroupApi) -> None:
    api.world.topic_ids["t"] = b"\x05" * 16
    api.world.commit([("t", 0, 5)])
    (topic,) = _fetch(api, 10, {"t": [0]})
    assert topic.partitions[0].committed_offset == -1


def test_groups_are_asked_in_one_request_and_each_has_its_own_error(api: GroupApi) -> None:
    api.ask(_commit(_topic(api, "t", 9, (0, 5))), 9)
    asked = [OffsetFetchRequestGroup(group_id=group_id, topics=None) for group_id in ("g", "other")]
    groups = api.ask(OffsetFetchRequest(groups=asked), 9).groups
    assert [(group.group_id, len(group.topics)) for group in groups] == [("g", 1), ("other", 0)]


def test_groups_are_listed_by_state_and_type(api: GroupApi) -> None:
    api.world.stable_group("a", group_id="busy")
    api.ask(_commit(_topic(api, "t", 9, (0, 5)), group_id="simple"), 9)

    def listed(version: int = 5, **filters: list[str]) -> list[tuple[str, str, str, str]]:
        response = api.ask(ListGroupsRequest(**filters), version)
        return [(each.group_id, each.protocol_type, each.group_state, each.group_type) for each in response.groups]

    busy, simple = ("busy", "consumer", "Stable", "classic"), ("simple", "", "Empty", "classic")
    assert sorted(listed()) == [busy, simple]
    assert listed(states_filter=["sTABLE"]) == [busy]
    assert listed(states_filter=["Dead"]) == []
    assert sorted(listed(types_filter=["Classic"])) == [busy, simple]
    assert listed(types_filter=["consumer"]) == []
    assert sorted(listed(0)) == [("busy", "consumer", "", ""), ("simple", "", "", "")]


@pytest.mark.parametrize("version", range(7))
def test_a_stable_group_is_described_with_its_assignments(api: GroupApi, version: int) -> None:
    (member_id,) = api.world.stable_group("a")
    request = DescribeGroupsRequest(groups=["g"], include_authorized_operations=version >= 3)
    (group,) = api.ask(request, version).groups
    assert (group.error_code, group.group_state, group.protocol_type, group.protocol_data) == (
        E.NONE,
        "Stable",
        "consumer",
        "range",
    )
    (member,) = group.members
    assert (member.member_id, member.client_id, member.member_metadata, member.member_assignment) == (
        member_id,
        "a",
        b"m",
        b"a",
    )
    assert (group.authorized_operations > 0) == (version >= 3)


def test_a_group_in_a_rebalance_is_described_without_what_means_nothing_now(api: GroupApi) -> None:
    api.world.join(client="a", version=3)
    (group,) = api.ask(DescribeGroupsRequest(groups=["g"]), 6).groups
    assert (group.group_state, group.protocol_data) == ("PreparingRebalance", "")
    assert [(member.member_metadata, member.member_assignment) for member in group.members] == [(b"", b"")]


@pytest.mark.parametrize(("version", "code"), [(5, E.NONE), (6, E.GROUP_ID_NOT_FOUND)])
def test_a_group_nobody_knows_is_dead(api: GroupApi, version: int, code: ErrorCode) -> None:
    request = DescribeGroupsRequest(groups=["nobody"], include_authorized_operations=True)
    (group,) = api.ask(request, version).groups
    assert (group.error_code, group.group_state, group.members) == (code, "Dead", [])
    assert (group.authorized_operations > 0) == (code is E.NONE)


@pytest.mark.parametrize("version", range(4))
def test_groups_are_deleted_each_with_its_own_code(api: GroupApi, version: int) -> None:
    api.world.stable_group("a", group_id="busy")
    api.ask(_commit(_topic(api, "t", 9, (0, 5))), 9)
    results = api.ask(DeleteGroupsRequest(groups_names=["busy", "g", "nobody", "g"]), version).results
    assert [each.error_code for each in results] == [E.NON_EMPTY_GROUP, E.NONE, E.GROUP_ID_NOT_FOUND]
    assert {each.error_message for each in results} == {None}
    assert api.world.committed() == {}


def _delete(group_id: str, topic: str, *partitions: int) -> OffsetDeleteRequest:
    indexes = [OffsetDeleteRequestPartition(partition_index=index) for index in partitions]
    return OffsetDeleteRequest(group_id=group_id, topics=[OffsetDeleteRequestTopic(name=topic, partitions=indexes)])


def test_offsets_are_deleted_partition_by_partition(api: GroupApi) -> None:
    api.ask(_commit(_topic(api, "t", 9, (0, 5), (1, 6))), 9)
    response = api.ask(_delete("g", "t", 0, 2, 3), 0)
    assert (response.error_code, _codes(response)) == (E.NONE, [[E.NONE, E.NONE, E.UNKNOWN_TOPIC_OR_PARTITION]])
    assert api.world.committed() == {("t", 1): 6}


def test_offsets_of_a_topic_that_is_being_read_stay(api: GroupApi) -> None:
    subscription = bytes.fromhex("0001" "00000001" "000174" "ffffffff")  # fmt: skip
    (member_id,) = api.world.stable_group("a", protocols=(("range", subscription),))
    api.world.commit([("t", 0, 5), ("u", 0, 6)], member_id=member_id, generation_id=1)
    assert _codes(api.ask(_delete("g", "t", 0), 0)) == [[E.GROUP_SUBSCRIBED_TO_TOPIC]]
    assert _codes(api.ask(_delete("g", "u", 0), 0)) == [[E.NONE]]
    assert api.world.committed() == {("t", 0): 5}


@pytest.mark.parametrize(("group_id", "code"), [("", E.INVALID_GROUP_ID), ("nobody", E.GROUP_ID_NOT_FOUND)])
def test_offsets_of_no_group_cannot_be_deleted(api: GroupApi, group_id: str, code: ErrorCode) -> None:
    response = api.ask(_delete(group_id, "t", 0), 0)
    assert (response.error_code, response.topics) == (code, [])


def test_a_group_of_others_than_consumers_keeps_its_offsets(api: GroupApi) -> None:
    api.world.stable_group("a", protocol_type="connect")
    assert api.ask(_delete("g", "t", 0), 0).error_code == E.NON_EMPTY_GROUP
