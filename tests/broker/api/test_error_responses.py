"""An error answer for any request of any version: the code where clients look for it, everything asked about named."""

from typing import Any

import pytest

from barnabas.broker.api.api_table import API_TABLE, ApiRow
from barnabas.broker.api.error_responses import error_response
from barnabas.protocol.codec.schema import Request, Struct, default_instance
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from barnabas.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from barnabas.protocol.registry import ApiKey, response_codec, spec

CODE = ErrorCode.UNKNOWN_SERVER_ERROR


def refused(request: Request, version: int) -> Any:
    """The error answer as a client decodes it."""
    key = request.__schema__.key
    assert key is not None
    response = error_response(spec(key), version, request, CODE, "why")
    assert response is not None
    codec = response_codec(key, version)
    decoded, _ = codec.decode(codec.encode(response))
    return decoded


def test_the_code_stands_at_the_top_where_there_is_one() -> None:
    assert refused(HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), 4).error_code == CODE


@pytest.mark.parametrize("key", ApiKey)
def test_a_request_that_lists_nothing_is_answered_with_nothing_or_with_the_code_at_the_top(key: ApiKey) -> None:
    for version in range(key.min_version, key.max_version + 1):
        refused(default_instance(spec(key).request), version)


def test_a_list_that_is_null_is_answered_as_an_empty_one() -> None:
    request = ElectLeadersRequest(election_type=0, topic_partitions=None, timeout_ms=0)
    assert refused(request, 0).replica_election_results == []


def test_topics_and_partitions_are_answered_one_by_one() -> None:
    partitions = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in (0, 3)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=partitions)])
    (topic,) = refused(request, 7).topics
    assert topic.name == "t"
    assert [(each.partition_index, each.error_code, each.offset) for each in topic.partitions] == [
        (0, CODE, -1),
        (3, CODE, -1),
    ]


def test_lists_that_the_response_calls_otherwise_are_found() -> None:
    request = DescribeConfigsRequest(
        resources=[DescribeConfigsResource(resource_type=2, resource_name="t", configuration_keys=None)],
        include_synonyms=False,
    )
    (result,) = refused(request, 4).results
    assert (result.resource_type, result.resource_name, result.error_code) == (2, "t", CODE)
    (coordinator,) = refused(FindCoordinatorRequest(coordinator_keys=["g"]), 4).coordinators
    assert (coordinator.key, coordinator.error_code) == ("g", CODE)
    (group,) = refused(DeleteGroupsRequest(groups_names=["g"]), 2).results
    assert (group.group_id, group.error_code) == ("g", CODE)


def test_partitions_of_transactions_are_answered_one_by_one() -> None:
    topics = [AddPartitionsToTxnTopic(name="t", partitions=[0, 3])]
    request = AddPartitionsToTxnRequest(v3_and_below_topics=topics)
    (topic,) = refused(request, 3).results_by_topic_v3_and_below
    assert topic.name == "t"
    found = [(each.partition_index, each.partition_error_code) for each in topic.results_by_partition]
    assert found == [(0, CODE), (3, CODE)]
    assert refused(request, 5).error_code == CODE


def test_partitions_are_found_under_what_they_are_queried_by() -> None:
    asked = AlterReplicaLogDirTopic(name="t", partitions=[0, 3])
    dirs = [AlterReplicaLogDir(path=path, topics=[asked]) for path in ("/a", "/b")]
    found = refused(AlterReplicaLogDirsRequest(dirs=dirs), 2).results
    assert [(topic.topic_name, [each.partition_index for each in topic.partitions]) for topic in found] == [
        ("t", [0, 3])
    ] * 2
    elections = ElectLeadersRequest(topic_partitions=[TopicPartitions(topic="t", partitions=[0, 3])])
    (topic,) = refused(elections, 0).replica_election_results
    assert (topic.topic, [(each.partition_id, each.error_code) for each in topic.partition_result]) == (
        "t",
        [(0, CODE), (3, CODE)],
    )


def test_a_message_goes_with_the_code() -> None:
    request = CreateTopicsRequest(
        topics=[CreatableTopic(name="t", num_partitions=1, replication_factor=1, assignments=[], configs=[])],
        timeout_ms=1,
    )
    (topic,) = refused(request, 5).topics
    assert (topic.name, topic.error_code, topic.error_message) == ("t", CODE, "why")


@pytest.mark.parametrize(("version", "top"), [(1, False), (2, True), (7, True)])
def test_offsets_are_refused_at_the_top_since_there_is_one(version: int, top: bool) -> None:
    request = OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[5])])
    answer = refused(request, version)
    assert answer.error_code == (CODE if top else ErrorCode.NONE)
    ((partition,),) = [topic.partitions for topic in answer.topics]
    assert (partition.partition_index, partition.error_code) == (5, CODE)


@pytest.mark.parametrize("row", API_TABLE, ids=lambda row: row.key.api_name)
def test_every_api_has_a_place_for_an_error(row: ApiRow) -> None:
    for version in range(row.min_version, row.max_version + 1):
        request = _full(spec(row.key).request, version)
        assert isinstance(request, Request)
        if row.key not in (ApiKey.PRODUCE, ApiKey.FETCH):  # these two have entries of their own
            refused(request, version)


def _full(struct: type[Struct], version: int) -> Struct:
    """A message whose lists all have one element."""
    message = struct.__new__(struct)
    for field in struct.__schema__.fields:
        value: Any = field.default_value()
        element = field.type.element
        if element is not None and field.in_version(version):
            value = [element.zero if element.struct is None else _full(element.struct, version)]
        setattr(message, field.name, value)
    return message
