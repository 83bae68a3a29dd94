"""Stock clients over TLS: each with a certificate of its own, each refused without, and stores renewed under them."""

import socket
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, Producer
from kafka import KafkaConsumer, KafkaProducer

from tests.compat.tools import CONFIGS, CONSUMER, PRODUCER, Tools
from tests.support.certificates import Authority, authority
from tests.support.ports import unused_port
from tests.support.processes.broker import BrokerProcess
from tests.support.waiting import until

COUNT = 50
VALUE = b"v" * 40_000


class SecuredBroker(BrokerProcess):
    """A broker with a listener SSL, which asks for certificates, and a PLAINTEXT one."""

    def __init__(self, directory: Path, settings: Mapping[str, object]) -> None:
        super().__init__(directory / "data", settings)
        self.tls_port = unused_port()

    @property
    def tls_address(self) -> str:
        return f"localhost:{self.tls_port}"

    def command(self) -> list[str]:
        self.settings["listeners"] = f"PLAINTEXT://127.0.0.1:{self.port},SSL://127.0.0.1:{self.tls_port}"
        return super().command()


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("tls")
    authority().write(directory / "authority.pem")
    authority().issue().write_pem(directory / "broker.pem")
    client = authority().issue("duke")
    (directory / "duke.crt").write_text(client.certificate_pem)
    (directory / "duke.key").write_text(client.key_pem())
    client.write_pem(directory / "duke.pem")
    return directory


@pytest.fixture(scope="module")
def server(directory: Path) -> Iterator[SecuredBroker]:
    settings = {
        "listener.name.ssl.ssl.keystore.type": "PEM",
        "listener.name.ssl.ssl.keystore.location": directory / "broker.pem",
        "listener.name.ssl.ssl.truststore.type": "PEM",
        "listener.name.ssl.ssl.truststore.location": directory / "authority.pem",
        "listener.name.ssl.ssl.client.auth": "required",
    }
    with SecuredBroker(directory, settings) as server:
        yield server


def test_librdkafka_writes_and_reads(server: SecuredBroker, directory: Path) -> None:
    secured = {
        "bootstrap.servers": server.tls_address,
        "security.protocol": "SSL",
        "ssl.ca.location": str(directory / "authority.pem"),
        "ssl.certificate.location": str(directory / "duke.crt"),
        "ssl.key.location": str(directory / "duke.key"),
    }
    producer = Producer(secured)
    for _ in range(COUNT):
        producer.produce("librdkafka", VALUE)
    assert producer.flush(30) == 0
    consumer = Consumer({**secured, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["librdkafka"])
    try:
        found: list[bytes | None] = []
        while len(found) < COUNT:
            found += [message.value() for message in consumer.consume(COUNT, timeout=30)]
        assert found == [VALUE] * COUNT
    finally:
        consumer.close()


def test_kafka_python_writes_and_reads(server: SecuredBroker, directory: Path) -> None:
    secured = {
        "bootstrap_servers": server.tls_address,
        "security_protocol": "SSL",
        "ssl_cafile": str(directory / "authority.pem"),
        "ssl_certfile": str(directory / "duke.crt"),
        "ssl_keyfile": str(directory / "duke.key"),
    }
    with KafkaProducer(**secured) as producer:
        for _ in range(COUNT):
            producer.send("kafka-python", VALUE)
    reading = {"auto_offset_reset": "earliest", "consumer_timeout_ms": 30_000}
    with KafkaConsumer("kafka-python", **secured, **reading) as consumer:
        assert [next(consumer).value for _ in range(COUNT)] == [VALUE] * COUNT


async def test_aiokafka_writes_and_reads(server: SecuredBroker, directory: Path) -> None:
    context = ssl.create_default_context(cafile=str(directory / "authority.pem"))
    context.load_cert_chain(directory / "duke.pem")
    secured = {"bootstrap_servers": server.tls_address, "security_protocol": "SSL", "ssl_context": context}
    async with AIOKafkaProducer(**secured) as producer:
        for _ in range(COUNT):
            await producer.send("aiokafka", VALUE)
    async with AIOKafkaConsumer("aiokafka", **secured, auto_offset_reset="earliest") as consumer:
        assert [(await consumer.getone()).value for _ in range(COUNT)] == [VALUE] * COUNT


def test_javas_tools_write_and_read(server: SecuredBroker, directory: Path, tools: Tools) -> None:
    settings = directory / "client.properties"
    settings.write_text(
        "security.protocol=SSL\n"
        f"ssl.truststore.type=PEM\nssl.truststore.location={directory / 'authority.pem'}\n"
        f"ssl.keystore.type=PEM\nssl.keystore.location={directory / 'duke.pem'}\n"
    )
    to = ("--bootstrap-server", server.tls_address, "--topic", "java")
    said = tools.run(PRODUCER, *to, "--command-config", str(settings), stdin="one castle\n")
    assert said.status == 0, said.err
    reading = ("--from-beginning", "--max-messages", "1", "--timeout-ms", "30000", "--command-config", str(settings))
    assert tools.run(CONSUMER, *to, *reading).out == "one castle\n"


def test_a_client_without_a_certificate_is_refused(server: SecuredBroker, directory: Path) -> None:
    context = ssl.create_default_context(cafile=str(directory / "authority.pem"))
    with (
        socket.create_connection(("localhost", server.tls_port)) as sock,
        context.wrap_socket(sock, server_hostname="localhost") as tls,
        pytest.raises(ssl.SSLError, match="CERTIFICATE_REQUIRED"),
    ):
        tls.recv(1)
    until(lambda: "TLS handshake: peer did not return a certificate" in server.log)


def shown(server: SecuredBroker) -> ssl.SSLContext | str:
    """The certificate that a client is shown."""
    return ssl.get_server_certificate(("localhost", server.tls_port))


def test_a_store_is_renewed_by_kafkas_tool(server: SecuredBroker, directory: Path, tools: Tools) -> None:
    renewed = authority().issue()
    renewed.write_pem(directory / "renewed.pem")
    broken = directory / "broken.pem"
    broken.write_text("half of it")
    key = "listener.name.ssl.ssl.keystore.location"
    of_broker = ("--alter", "--entity-type", "brokers", "--entity-name", "1", "--add-config")
    refused = tools.fail(server, CONFIGS, *of_broker, f"{key}={broken}")
    assert "Validation of dynamic config update of SSLFactory failed" in refused
    tools.ask(server, CONFIGS, *of_broker, f"{key}={directory / 'renewed.pem'}")
    assert shown(server) == renewed.certificate_pem
    bare = tools.fail(server, CONFIGS, *of_broker, f"ssl.keystore.location={broken}")
    assert "can be dynamically updated only per-listener using the listener prefix" in bare
    server.stop()
    server.start()
    assert shown(server) == renewed.certificate_pem


def test_clients_of_another_authority_are_not_fooled(server: SecuredBroker, directory: Path) -> None:
    other = Authority("of others").write(directory / "other.pem")
    with socket.create_connection(("localhost", server.tls_port)) as sock, pytest.raises(ssl.SSLCertVerificationError):
        ssl.create_default_context(cafile=str(other)).wrap_socket(sock, server_hostname="localhost")
