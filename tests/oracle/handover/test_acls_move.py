"""ACLs that were made here are in force in Apache Kafka after a handover, and those made there are in force here."""

from pathlib import Path
from typing import Any

from barnabas.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from barnabas.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from barnabas.protocol.messages.describe_acls import DescribeAclsRequest
from barnabas.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tests.support.kafka.handed_over import HandedOverKafka
from tests.support.kafka.jars import KAFKA_VERSION
from tests.support.probes.wire import Wire
from tests.support.processes.broker import BrokerProcess
from tests.support.waiting import until

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
ANY, LITERAL, READ, DENY, ALLOW, TOPIC = 1, 3, 3, 2, 3, 2
DENIED = 29
_EVERY: dict[str, Any] = {
    "resource_type_filter": ANY,
    "resource_name_filter": None,
    "pattern_type_filter": ANY,
    "principal_filter": None,
    "host_filter": None,
    "operation": ANY,
    "permission_type": ANY,
}


def create(wire: Wire, name: str, operation: int, permission: int) -> None:
    creation = AclCreation(
        resource_type=TOPIC,
        resource_name=name,
        resource_pattern_type=LITERAL,
        principal="User:ANONYMOUS",
        host="*",
        operation=operation,
        permission_type=permission,
    )
    assert wire.ask(CreateAclsRequest(creations=[creation]), 3).results[0].error_code == 0


def described(wire: Wire) -> set[tuple[str, int, int]]:
    answer = wire.ask(DescribeAclsRequest(**_EVERY), 3)
    assert answer.error_code == 0
    return {(each.resource_name, acl.operation, acl.permission_type) for each in answer.resources for acl in each.acls}


def code_of(wire: Wire, topic: str) -> int:
    """What somebody is answered who asks where a topic ends: UNKNOWN_TOPIC_OR_PARTITION or that it is denied."""
    partitions = [ListOffsetsPartition(partition_index=0, timestamp=-1)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=partitions)])
    code: int = wire.ask(request, 5).topics[0].partitions[0].error_code
    return code


def test_acls_go_to_kafka_and_come_back(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with BrokerProcess(data, SETTINGS) as broker, Wire(broker.port) as wire:
        create(wire, "ours", 2, DENY)
        create(wire, "gone", READ, ALLOW)
        assert code_of(wire, "ours") == DENIED
        before = described(wire)
        broker.stop()
    with HandedOverKafka(data, SETTINGS, {}, KAFKA_VERSION) as kafka, Wire(kafka.port) as wire:
        until(lambda: described(wire) == before)
        assert code_of(wire, "ours") == DENIED
        create(wire, "theirs", 2, DENY)
        gone = DeleteAclsFilter(**{**_EVERY, "resource_name_filter": "gone"})
        assert len(wire.ask(DeleteAclsRequest(filters=[gone]), 3).filter_results[0].matching_acls) == 1
        kafka.stop()
    with BrokerProcess(data, SETTINGS) as broker, Wire(broker.port) as wire:
        assert described(wire) == {("ours", 2, DENY), ("theirs", 2, DENY)}
        assert code_of(wire, "theirs") == DENIED
        assert code_of(wire, "ours") == DENIED
        assert code_of(wire, "gone") != DENIED
