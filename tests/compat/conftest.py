"""The real clients, and one broker for the tests of a module."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from barnabas.client.client import Client as OwnClient
from tests.compat.clients.aiokafka_client import Aiokafka
from tests.compat.clients.confluent import Confluent
from tests.compat.clients.go_client import GoClient
from tests.compat.clients.java_client import JavaClient
from tests.compat.clients.js_client import JsClient
from tests.compat.clients.kafka_python import KafkaPython
from tests.compat.clients.kcat import Kcat
from tests.compat.clients.own import Own
from tests.compat.model import PARTITIONS, Client
from tests.compat.tools import Tools
from tests.support.processes.server import Server

NewServer = Callable[[Path, Mapping[str, object]], Server]
JAVA = ("java-4.4.0", "java-3.9.1", "java-2.8.2")
GO = ("franz-go", "sarama", "kafka-go")
JS = ("kafkajs", "platformatic")
STREAMING = ("kafka-python", "aiokafka", "confluent-kafka", *JAVA, "franz-go", "sarama", *JS)
ALL = (*STREAMING, "kcat", "kafka-go", "barnabas")


def pytest_configure(config: pytest.Config) -> None:
    """kafka-python and aiokafka leave the sockets of lost connections to the garbage collector, which warns of them."""
    config.addinivalue_line("filterwarnings", "ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(scope="session")
def clients() -> Iterator[dict[str, Client]]:
    """Every client by name; their processes start when they are first needed and end with the tests."""
    java = [JavaClient(name.removeprefix("java-")) for name in JAVA]
    with_processes = [*java, *map(GoClient, GO), *map(JsClient, JS)]
    all_clients: list[Client] = [KafkaPython(), Aiokafka(), Confluent(), Kcat(), Own(), *with_processes]
    yield {client.name: client for client in all_clients}
    for client in with_processes:
        client.close()


@pytest.fixture(scope="module")
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, new_server: NewServer
) -> Iterator[Server]:
    """A running broker that makes topics of three partitions by itself, and keeps messages of times long past.

    Where the module has SETTINGS, these are its settings.
    """
    settings = getattr(request.module, "SETTINGS", {"num.partitions": PARTITIONS, "log.retention.ms": -1})
    with new_server(tmp_path_factory.mktemp("server") / "data", settings) as server:
        yield server


@pytest.fixture
def client(server: Server) -> Iterator[OwnClient]:
    """Our own client, connected to it."""
    with OwnClient(server.address) as client:
        yield client


@pytest.fixture(scope="session")
def tools() -> Iterator[Tools]:
    """Kafka's command-line tools, in one JVM."""
    tools = Tools()
    yield tools
    tools.close()
