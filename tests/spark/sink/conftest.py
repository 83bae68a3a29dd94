"""A broker for the sink, which its tests call as Spark does, without Spark."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from barnabas.client.client import Client
from pyspark_barnabas.cluster.clients import close_clients
from pyspark_barnabas.cluster.connection import ConnectionSettings
from pyspark_barnabas.sink.settings import SinkSettings
from tests.support.processes.server import Server
from tests.support.spark.sink_query import Query

LIMIT_MS = 600_000


@pytest.fixture(scope="session")
def broker(
    tmp_path_factory: pytest.TempPathFactory, new_server: Callable[[Path, Mapping[str, object]], Server]
) -> Iterator[Server]:
    settings = {"num.partitions": 3, "transaction.max.timeout.ms": LIMIT_MS}
    with new_server(tmp_path_factory.mktemp("sink") / "data", settings) as server:
        yield server


@pytest.fixture(autouse=True)
def _leave_nothing_open() -> Iterator[None]:
    yield
    close_clients()


@pytest.fixture
def client(broker: Server) -> Iterator[Client]:
    with Client(broker.address) as client:
        yield client


@pytest.fixture
def settings(broker: Server, request: pytest.FixtureRequest) -> SinkSettings:
    """Of a sink that no other test has, with the longest transactions that the broker allows."""
    name = request.node.name.removeprefix("test_")[:80].replace("[", "-").rstrip("]")
    return SinkSettings(ConnectionSettings(broker.address), topic=name, prefix=name, transaction_timeout_ms=LIMIT_MS)


@pytest.fixture
def query(settings: SinkSettings) -> Query:
    """That writes to it."""
    return Query(settings)
