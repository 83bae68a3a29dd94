"""ACLs that were made here are in force in Apache Kafka after a handover, and those made there are in force here."""

from pathlib import Path

from barnabas.client.admin.acls import AclBinding, AclBindingFilter, create_acls, delete_acls, describe_acls
from barnabas.client.client import Client
from tests.support.kafka.handed_over import HandedOverKafka
from tests.support.kafka.jars import KAFKA_VERSION
from tests.support.processes.broker import BrokerProcess
from tests.support.requests import list_offsets
from tests.support.waiting import until

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
LITERAL, READ, DENY, ALLOW, TOPIC = 3, 3, 2, 3, 2
DENIED = 29


def create(client: Client, name: str, operation: int, permission: int) -> None:
    create_acls(client, [AclBinding(TOPIC, name, LITERAL, "User:ANONYMOUS", "*", operation, permission)])


def described(client: Client) -> set[tuple[str, int, int]]:
    found = describe_acls(client, AclBindingFilter())
    return {(each.resource_name, each.operation, each.permission_type) for each in found}


def code_of(client: Client, topic: str) -> int:
    """What somebody is answered who asks where a topic ends: UNKNOWN_TOPIC_OR_PARTITION or that it is denied."""
    code: int = client.ask_any(list_offsets(topic=topic)).topics[0].partitions[0].error_code
    return code


def test_acls_go_to_kafka_and_come_back(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with BrokerProcess(data, SETTINGS) as broker, Client(broker.address) as client:
        create(client, "ours", 2, DENY)
        create(client, "gone", READ, ALLOW)
        assert code_of(client, "ours") == DENIED
        before = described(client)
        broker.stop()
    with HandedOverKafka(data, SETTINGS, {}, KAFKA_VERSION) as kafka, Client(kafka.address) as client:
        until(lambda: described(client) == before)
        assert code_of(client, "ours") == DENIED
        create(client, "theirs", 2, DENY)
        assert len(delete_acls(client, [AclBindingFilter(resource_name="gone")])) == 1
        kafka.stop()
    with BrokerProcess(data, SETTINGS) as broker, Client(broker.address) as client:
        assert described(client) == {("ours", 2, DENY), ("theirs", 2, DENY)}
        assert code_of(client, "theirs") == DENIED
        assert code_of(client, "ours") == DENIED
        assert code_of(client, "gone") != DENIED
