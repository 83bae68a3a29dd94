"""`serve --secure`, with stock clients that take the settings it writes."""

import json
import re
import socket
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ConfigResource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)
from kafka import KafkaConsumer, KafkaProducer

from barnabas import Barnabas, BarnabasError
from barnabas.broker.cli import main
from tests.compat.tools import ACLS, TOPICS, Tools
from tests.support.processes.broker import BrokerProcess
from tests.support.processes.server import ROOT

PAGE = ROOT / "docs" / "security" / "secure.md"


def secured(directory: Path, *flags: str) -> BrokerProcess:
    return BrokerProcess(directory / "data", flags=("--secure", *flags))


def librdkafka(directory: Path) -> dict[str, str]:
    lines = (directory / "data.security" / "librdkafka.properties").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def test_clients_take_the_settings_as_they_are_written(tmp_path: Path, tools: Tools) -> None:
    with secured(tmp_path) as server:
        settings = json.loads((tmp_path / "data.security" / "kafka-python.json").read_text())
        with KafkaProducer(**settings) as producer:
            producer.send("t", b"v").get(timeout=30)
        with KafkaConsumer("t", **settings, auto_offset_reset="earliest", consumer_timeout_ms=30_000) as consumer:
            assert next(consumer).value == b"v"
        admin = str(tmp_path / "data.security" / "admin.properties")
        assert tools.ask(server, TOPICS, "--list", "--command-config", admin).split() == ["t"]
        before = librdkafka(tmp_path)
        server.stop()
        server.start()
        assert librdkafka(tmp_path) == before
        reader = Consumer({**before, "group.id": "g", "auto.offset.reset": "earliest"})
        reader.subscribe(["t"])
        message = reader.poll(30)
        assert message is not None
        assert message.value() == b"v"
        reader.close()


def test_an_application_finds_its_rights(tmp_path: Path) -> None:
    with secured(tmp_path):
        settings = librdkafka(tmp_path)
        admin = AdminClient({**settings})
        for made in admin.create_topics([NewTopic("in", 1), NewTopic("out", 1)]).values():
            made.result(30)
        source = Producer(settings)
        source.produce("in", b"v")
        assert source.flush(30) == 0
        consumer = Consumer({**settings, "group.id": "g", "auto.offset.reset": "earliest", "enable.auto.commit": False})
        consumer.subscribe(["in"])
        message = consumer.poll(30)
        assert message is not None
        assert message.error() is None
        producer = Producer({**settings, "transactional.id": "t"})
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce("out", message.value())
        position = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(position, consumer.consumer_group_metadata(), 30)
        producer.commit_transaction(30)
        consumer.close()
        for described in admin.describe_configs([ConfigResource(ResourceType.TOPIC, "out")]).values():
            assert described.result(30)["cleanup.policy"].value == "delete"
        assert [each.group_id for each in admin.list_consumer_groups().result(30).valid] == ["g"]
        for deleted in admin.delete_topics(["in"]).values():
            deleted.result(30)
        wish = AclBinding(
            ResourceType.TOPIC,
            "out",
            ResourcePatternType.LITERAL,
            "User:eve",
            "*",
            AclOperation.READ,
            AclPermissionType.ALLOW,
        )
        for refused in admin.create_acls([wish]).values():
            with pytest.raises(KafkaException, match="CLUSTER_AUTHORIZATION_FAILED"):
                refused.result(30)


def test_a_user_who_is_added_may_do_what_acls_say_and_a_removed_right_stays_removed(
    tmp_path: Path, tools: Tools
) -> None:
    with secured(tmp_path, "--topic", "orders", "--topic", "other") as server:
        server.stop()
        with (tmp_path / "data.security" / "users.properties").open("a") as users:
            users.write("alice=wonderland\n")
        server.start()
        as_admin = ("--command-config", str(tmp_path / "data.security" / "admin.properties"))
        for command in re.findall(r"```sh\nbarnabas (acls .*?)\n```", PAGE.read_text(), re.DOTALL):
            words = command.replace("\\\n", " ").replace("localhost:9092", server.address).split()
            words[words.index("--command-config") + 1] = as_admin[1]
            assert main(words) == 0
        alice = {**librdkafka(tmp_path), "sasl.username": "alice", "sasl.password": "wonderland"}
        assert set(Producer(alice).list_topics(timeout=30).topics) == {"orders"}
        client = ("--command-config", str(tmp_path / "data.security" / "client.properties"))
        assert "Cluster authorization failed" in tools.fail(server, ACLS, *client, "--list")
        of_groups = ("--allow-principal", "User:client", "--operation", "Read", "--group", "*")
        tools.ask(server, ACLS, *as_admin, "--remove", "--force", *of_groups)
        server.stop()
        server.start()
        listed = tools.ask(server, ACLS, *as_admin, "--list", "--principal", "User:client")
        of_group = listed.partition("resourceType=GROUP")[2].partition("Current ACLs")[0]
        assert "operation=DESCRIBE" in of_group
        assert "operation=READ" not in of_group


def test_nobody_comes_in_without_tls_or_with_a_wrong_password(tmp_path: Path) -> None:
    with secured(tmp_path) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as sock:
            sock.sendall(b"\0\0\0\x0a\0\x12\0\0\0\0\0\1\xff\xff")
            assert sock.recv(1) == b""
        wrong = Producer({**librdkafka(tmp_path), "sasl.password": "guess"})
        with pytest.raises(KafkaException):
            wrong.list_topics(timeout=3)
        assert "guess" not in server.log


def test_every_one_of_several_nodes_is_secured(tmp_path: Path) -> None:
    with secured(tmp_path, "--brokers", "3"):
        settings = librdkafka(tmp_path)
        assert settings["bootstrap.servers"].count(",") == 2
        assert len(Producer(settings).list_topics(timeout=30).brokers) == 3


def test_an_embedded_broker_tells_each_kind_of_client() -> None:
    with Barnabas(secure=True, topics=["t"]) as broker:
        directory = Path(broker.data_dir + ".security")
        producer = Producer(broker.client_settings("librdkafka"))
        producer.produce("t", b"v")
        assert producer.flush(30) == 0
        settings = broker.client_settings("kafka_python", user="admin")
        assert broker.client_settings("kafka-python", user="admin") == settings
        with KafkaConsumer("t", **settings, auto_offset_reset="earliest", consumer_timeout_ms=30_000) as consumer:
            assert next(consumer).value == b"v"
        assert broker.client_settings("spark")["kafka.security.protocol"] == "SASL_SSL"
        with pytest.raises(BarnabasError, match="there is no user eve: admin, client are known"):
            broker.client_settings("java", user="eve")
        before = broker.client_settings("java")
        broker.restart()
        assert broker.client_settings("java") == before
    assert not directory.exists()


def test_a_broker_that_is_not_secured_says_where_it_is() -> None:
    with Barnabas() as broker:
        assert broker.client_settings() == {"bootstrap.servers": broker.bootstrap_servers}


@pytest.mark.barnabas(secure=True)
def test_a_mark_secures_the_fixture(barnabas: Barnabas) -> None:
    assert barnabas.client_settings("java")["security.protocol"] == "SASL_SSL"
