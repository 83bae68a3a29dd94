"""Spark's stock connector and ours over SASL_SSL, each as a user with the rights that the pages list and no others."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from tests.support.clients import topics
from tests.support.depth import long
from tests.support.security.grants import Grant, Grants, sink_rights
from tests.support.security.secured import SASL_SSL, SecuredServer, secured_kind

PREFIX = "orders"
STOCK = (Grant("READ", "TOPIC", "source-kafka"), Grant("WRITE", "TOPIC", "target-kafka"))
OURS = (Grant("READ", "TOPIC", "source-barnabas"), *sink_rights(PREFIX, "target-barnabas"))
NEEDED = {"kafka": STOCK, "barnabas": OURS}


class Secured(NamedTuple):
    server: SecuredServer

    def options(self, user: str) -> dict[str, str]:
        """Spark's, for the user's way in."""
        properties = {"bootstrap.servers": f"127.0.0.1:{self.server.ports[SASL_SSL]}"}
        properties |= self.server.security.client_properties(user)
        return {f"kafka.{name}": value for name, value in properties.items()}


@pytest.fixture(scope="module")
def secured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    directory = tmp_path_factory.mktemp("secured")
    kind = secured_kind(request.config.getoption("--against"))
    settings = {"auto.create.topics.enable": "false"}
    with kind(directory / "data", settings, listeners=(SASL_SSL,), users=tuple(NEEDED)) as server:
        for connector in NEEDED:
            for topic in (f"source-{connector}", f"target-{connector}"):
                topics.create(server.address, topic, 2)
        yield Secured(server)


@pytest.mark.parametrize("connector", ["barnabas", long("kafka")])
def test_a_stream_needs_these_rights_and_stops_without_them(
    spark: SparkSession, secured: Secured, tmp_path: Path, connector: str
) -> None:
    address, source, target = secured.server.address, f"source-{connector}", f"target-{connector}"
    options = secured.options(connector)
    own = {"transactionalIdPrefix": PREFIX} if connector == "barnabas" else {}

    def run() -> None:
        read = spark.readStream.format(connector).options(subscribe=source, startingOffsets="earliest", **options)
        writer = read.load().select("value").writeStream.format(connector)
        writer = writer.options(topic=target, checkpointLocation=str(tmp_path), **own, **options)
        assert writer.trigger(availableNow=True).start().awaitTermination(90)

    grants, write = Grants(secured.server.port, connector), Grant("WRITE", "TOPIC", target)
    grants.give(NEEDED[connector])
    topics.send(address, source, (b"%d" % n for n in range(100)))
    run()
    assert topics.numbers(address, target) == list(range(100))
    grants.take([write])
    topics.send(address, source, (b"%d" % n for n in range(100, 150)))
    with pytest.raises(StreamingQueryException, match=r"(?i)authoriz"):
        run()
    assert topics.numbers(address, target) == list(range(100))
    grants.give([write])
    run()
    assert topics.numbers(address, target) == list(range(150))
