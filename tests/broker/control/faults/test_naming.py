"""What requests name: for every API, by its schema."""

import pytest

from barnabas.broker.api.api_table import API_TABLE, TELEMETRY_TABLE, ApiRow
from barnabas.broker.control.faults.matching import RequestNames
from barnabas.broker.control.faults.naming import named_by, names_in
from barnabas.protocol.codec.schema import FieldType, Request, Struct, default_instance
from barnabas.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from barnabas.protocol.registry import ApiKey, request_codec, spec

NAMED = {
    "Produce": "topic partition transactional_id",
    "Fetch": "topic partition",
    "ListOffsets": "topic partition",
    "Metadata": "topic",
    "OffsetCommit": "topic partition group",
    "OffsetFetch": "topic partition group",
    "FindCoordinator": "group transactional_id",
    "JoinGroup": "group",
    "Heartbeat": "group",
    "LeaveGroup": "group",
    "SyncGroup": "group",
    "DescribeGroups": "group",
    "CreateTopics": "topic",
    "DeleteTopics": "topic",
    "DeleteRecords": "topic partition",
    "InitProducerId": "transactional_id",
    "OffsetForLeaderEpoch": "topic partition",
    "AddPartitionsToTxn": "topic partition transactional_id",
    "AddOffsetsToTxn": "group transactional_id",
    "EndTxn": "transactional_id",
    "WriteTxnMarkers": "topic partition",
    "TxnOffsetCommit": "topic partition group transactional_id",
    "DescribeConfigs": "topic group",
    "AlterConfigs": "topic group",
    "IncrementalAlterConfigs": "topic group",
    "AlterReplicaLogDirs": "topic partition",
    "DescribeLogDirs": "topic partition",
    "CreatePartitions": "topic",
    "DeleteGroups": "group",
    "ElectLeaders": "topic partition",
    "AlterPartitionReassignments": "topic partition",
    "ListPartitionReassignments": "topic partition",
    "OffsetDelete": "topic partition group",
    "DescribeQuorum": "topic partition",
    "DescribeProducers": "topic partition",
    "DescribeTransactions": "transactional_id",
    "ConsumerGroupHeartbeat": "group",
    "ConsumerGroupDescribe": "group",
    "DescribeTopicPartitions": "topic",
    "ShareGroupHeartbeat": "group",
    "ShareGroupDescribe": "group",
    "ShareFetch": "group topic partition",
    "ShareAcknowledge": "group topic partition",
    "InitializeShareGroupState": "group topic partition",
    "ReadShareGroupState": "group topic partition",
    "WriteShareGroupState": "group topic partition",
    "DeleteShareGroupState": "group topic partition",
    "ReadShareGroupStateSummary": "group topic partition",
    "StreamsGroupHeartbeat": "group",
    "StreamsGroupDescribe": "group",
    "StreamsGroupTopologyDescriptionUpdate": "group",
    "DescribeShareGroupOffsets": "group topic partition",
    "AlterShareGroupOffsets": "group topic partition",
    "DeleteShareGroupOffsets": "group topic",
}


def filled(struct: type[Struct], version: int) -> Struct:
    """With one element in each list that there is in this version, x for each text, and ids of ones."""
    made: Struct = default_instance(struct)
    for field in struct.__schema__.fields:
        if not field.in_version(version):
            continue
        if field.type.element is not None:
            setattr(made, field.name, [_value(field.type.element, version)])
        elif field.name == "topic_id":
            setattr(made, field.name, b"\1" * 16)
        elif field.type.name == "string":
            setattr(made, field.name, "x")
        elif field.name in ("resource_type", "partition_index", "partition", "index"):
            setattr(made, field.name, 2)
    return made


def _value(kind: FieldType, version: int) -> object:
    return filled(kind.struct, version) if kind.struct is not None else "x" if kind.name == "string" else 2


@pytest.mark.parametrize("row", [*API_TABLE, *TELEMETRY_TABLE], ids=lambda row: row.key.api_name)
def test_the_resources_of_an_api_are_found_in_its_requests(row: ApiRow) -> None:
    versions = range(row.min_version, row.max_version + 1)
    assert named_by(row.key, versions) == set(NAMED.get(row.key.api_name, "").split())
    for version in versions:
        codec = request_codec(row.key, version)
        request: Request = codec.decode(memoryview(codec.encode(filled(spec(row.key).request, version))), 0)[0]
        asked = names_in(row.key, request, lambda _: "x")
        found = {"topic": bool(asked.partitions), "partition": {2} in asked.partitions.values()}
        found |= {"group": bool(asked.groups), "transactional_id": bool(asked.transactional_ids)}
        expected = named_by(row.key, range(version, version + 1))
        if row.key is ApiKey.FIND_COORDINATOR:
            expected = frozenset({"group"})
        elif "Configs" in row.key.api_name:
            expected = frozenset({"topic"})
        assert {name for name, is_there in found.items() if is_there} == expected


def test_one_request_in_full() -> None:
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="tx",
        v3_and_below_producer_id=1,
        v3_and_below_producer_epoch=0,
        v3_and_below_topics=[
            AddPartitionsToTxnTopic(name="a", partitions=[0, 2]),
            AddPartitionsToTxnTopic(name="b", partitions=[1]),
        ],
    )
    asked = names_in(ApiKey.ADD_PARTITIONS_TO_TXN, request, lambda _: "")
    assert asked == RequestNames(partitions={"a": {0, 2}, "b": {1}}, groups=[], transactional_ids=["tx"])


def test_a_topic_whose_id_is_unknown_has_no_name_to_match() -> None:
    request = filled(spec(ApiKey.PRODUCE).request, 13)
    assert names_in(ApiKey.PRODUCE, request, lambda _: "").partitions == {}  # type: ignore[arg-type]  # it is a request
