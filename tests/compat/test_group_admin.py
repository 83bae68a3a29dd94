"""Groups as administrators see them: kafka-python, librdkafka and Kafka's own tools list, describe, reset, delete."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupState, ConsumerGroupTopicPartitions, KafkaError, KafkaException
from confluent_kafka import TopicPartition as Position
from confluent_kafka.admin import AdminClient
from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import for_code

from barnabas.protocol.errors import ErrorCode
from tests.compat.model import PARTITIONS, Client, messages_for
from tests.compat.readers import PythonReader
from tests.compat.tools import ALL_GROUPS, GROUPS, Tools
from tests.support.processes.server import Server

TOPIC = "told"
COUNT = 30


@pytest.fixture(scope="module", autouse=True)
def written(server: Server, clients: Mapping[str, Client]) -> None:
    """A topic with ten records in each of its partitions, and a coordinator that is ready for groups."""
    client = clients["confluent-kafka"]
    client.write(server.address, TOPIC, messages_for(client, "none", COUNT), "none")
    assert len(client.read_in_group(server.address, TOPIC, "first", COUNT)) == COUNT


@pytest.fixture(scope="module")
def python_admin(server: Server) -> Iterator[KafkaAdminClient]:
    admin = KafkaAdminClient(bootstrap_servers=server.address)
    yield admin
    admin.close()


@pytest.fixture(scope="module")
def librdkafka_admin(server: Server) -> AdminClient:
    return AdminClient({"bootstrap.servers": server.address})


def commit(server: Server, group: str, offset: int) -> None:
    """A group without members that has committed this offset in every partition."""
    consumer = Consumer({"bootstrap.servers": server.address, "group.id": group})
    positions = [Position(TOPIC, partition, offset) for partition in range(PARTITIONS)]
    consumer.commit(offsets=positions, asynchronous=False)
    consumer.close()


@contextmanager
def busy(server: Server, group: str) -> Iterator[None]:
    """A kafka-python consumer is the only member of the group, and has all partitions."""
    with PythonReader(server.address, TOPIC, group) as member:
        member.wait_until_it_has(PARTITIONS)
        yield


def result(futures: Mapping[str, Any]) -> Any:
    [future] = futures.values()
    return future.result(timeout=30)


def test_kafka_python_lists_describes_and_deletes(server: Server, python_admin: KafkaAdminClient) -> None:
    commit(server, "python-idle", 4)
    with busy(server, "python-busy"):
        listed = {group["group_id"]: group for group in python_admin.list_groups()}
        assert listed["python-busy"]["protocol_type"] == "consumer"
        stable = {group["group_id"] for group in python_admin.list_groups(states_filter=["Stable"])}
        assert "python-busy" in stable
        assert "python-idle" not in stable
        assert python_admin.list_groups(types_filter=["share"]) == []
        told = python_admin.describe_groups(["python-busy"])["python-busy"]
        assert (told["group_state"], told["protocol_type"], told["error"]) == ("Stable", "consumer", None)
        [member] = told["members"]
        assert member["client_id"] == "reader"
        assert [each["topic"] for each in member["member_assignment"]["assigned_partitions"]] == [TOPIC]
        assert python_admin.delete_groups(["python-busy"]) == {"python-busy": "NonEmptyGroupError"}
        offsets = [TopicPartition(TOPIC, 0)]
        assert python_admin.delete_group_offsets("python-busy", offsets) == {
            offsets[0]: for_code(ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)
        }
    python_admin.delete_group_offsets("python-idle", [TopicPartition(TOPIC, 0)])
    left = python_admin.list_group_offsets("python-idle")["python-idle"]
    assert {place.partition: found.offset for place, found in left.items()} == {1: 4, 2: 4}
    assert python_admin.delete_groups(["python-idle", "python-nobody"]) == {
        "python-idle": "OK",
        "python-nobody": "GroupIdNotFoundError",
    }
    assert "python-idle" not in {group["group_id"] for group in python_admin.list_groups()}


def test_librdkafka_lists_describes_alters_and_deletes(server: Server, librdkafka_admin: AdminClient) -> None:
    commit(server, "librdkafka-idle", 4)
    with busy(server, "librdkafka-busy"):
        listed = librdkafka_admin.list_consumer_groups(states={ConsumerGroupState.STABLE}).result(timeout=30)
        assert listed.errors == []
        assert [group.state for group in listed.valid if group.group_id == "librdkafka-busy"] == [
            ConsumerGroupState.STABLE
        ]
        assert "librdkafka-idle" not in {group.group_id for group in listed.valid}
        asked = librdkafka_admin.describe_consumer_groups(["librdkafka-busy"], include_authorized_operations=True)
        told = result(asked)
        assert (told.state, told.partition_assignor) == (ConsumerGroupState.STABLE, "range")
        assert {operation.name for operation in told.authorized_operations} >= {"READ", "DELETE", "DESCRIBE"}
        [member] = told.members
        assert {(each.topic, each.partition) for each in member.assignment.topic_partitions} == {
            (TOPIC, partition) for partition in range(PARTITIONS)
        }
        with pytest.raises(KafkaException) as refusal:
            result(librdkafka_admin.delete_consumer_groups(["librdkafka-busy"]))
        assert refusal.value.args[0].code() == KafkaError.NON_EMPTY_GROUP
    wish = ConsumerGroupTopicPartitions("librdkafka-idle", [Position(TOPIC, 1, 7)])
    result(librdkafka_admin.alter_consumer_group_offsets([wish]))
    asked = librdkafka_admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("librdkafka-idle")])
    assert {each.partition: each.offset for each in result(asked).topic_partitions} == {0: 4, 1: 7, 2: 4}
    assert result(librdkafka_admin.delete_consumer_groups(["librdkafka-idle"])) is None
    with pytest.raises(KafkaException) as refusal:
        result(librdkafka_admin.delete_consumer_groups(["librdkafka-idle"]))
    assert refusal.value.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND


def table(text: str) -> list[dict[str, str]]:
    """The rows of a table a tool printed, by the names in its header."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    header = next(index for index, line in enumerate(lines) if line[0] in ("GROUP", "TOPIC"))
    return [dict(zip(lines[header], line, strict=False)) for line in lines[header + 1 :]]


def test_kafkas_tool_lists_and_describes_a_busy_group(server: Server, tools: Tools) -> None:
    with busy(server, "java-busy"):
        assert {"java-busy", "Stable"} <= set(tools.ask(server, GROUPS, "--list", "--state", "stable").split())
        described = tools.ask(server, GROUPS, "--describe", "--group", "java-busy", "--members", "--verbose")
        [member] = table(described)
        assert (member["GROUP"], member["CLIENT-ID"], member["#PARTITIONS"]) == ("java-busy", "reader", "3")
        state = tools.ask(server, GROUPS, "--describe", "--group", "java-busy", "--state")
        assert {"range", "Stable"} <= set(state.split())
        everything = tools.ask(server, ALL_GROUPS, "--list")
        [line] = [line.split() for line in everything.splitlines() if line.startswith("java-busy")]
        assert line == ["java-busy", "Classic", "consumer"]
