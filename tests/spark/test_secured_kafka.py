"""The sink and the source over SASL_SSL and mutual TLS, on both servers: exactly once, and no secret is shown."""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.support.certificates import Authority
from tests.support.clients import topics
from tests.support.depth import long
from tests.support.processes.server import ROOT
from tests.support.security.secured import (
    ELSEWHERE,
    EXPIRED,
    MECHANISMS,
    OAUTHBEARER,
    SASL_SSL,
    SSL,
    STORE_PASSWORD,
    SecuredBroker,
    SecuredKafka,
    SecuredServer,
    Ways,
    password_of,
)
from tests.support.waiting import PATIENCE_S

BY_SPARK = (PySparkException, Py4JJavaError)
ALICE = "alice"
TOKENS = "tests.support.token_provider:token"
SETTINGS = {"num.partitions": 2}
WAYS: Ways = {
    "listeners": (SASL_SSL, SSL, EXPIRED, ELSEWHERE),
    "users": (ALICE,),
    "scram_users": (ALICE,),
    "mechanisms": (*MECHANISMS, OAUTHBEARER),
    "has_authorizer": False,
}


class Servers:
    """Both, each started when it is first asked for."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        self._directory = directory
        self._stack = stack

    @cached_property
    def kafka(self) -> SecuredKafka:
        return self._stack.enter_context(SecuredKafka(self._directory / "kafka" / "data", SETTINGS, **WAYS))

    @cached_property
    def barnabas(self) -> SecuredBroker:
        return self._stack.enter_context(SecuredBroker(self._directory / "barnabas" / "data", SETTINGS, **WAYS))


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with ExitStack() as stack:
        yield Servers(tmp_path_factory.mktemp("servers"), stack)


@pytest.fixture
def kafka(servers: Servers) -> SecuredKafka:
    return servers.kafka


def address_of(kafka: SecuredServer, listener: str) -> str:
    return f"127.0.0.1:{kafka.ports[listener]}"


def options_of(kafka: SecuredServer, way: str) -> dict[str, str]:
    """A way in, as Spark's options."""
    is_mutual = way == "mutual TLS"
    properties = kafka.security.mutual_properties() if is_mutual else kafka.security.client_properties(ALICE, way)
    if way == OAUTHBEARER:
        del properties["sasl.jaas.config"]
        properties["sasl.oauthbearer.token.provider"] = TOKENS
    brokers = {"kafka.bootstrap.servers": address_of(kafka, SSL if is_mutual else SASL_SSL)}
    return brokers | {f"kafka.{name}": value for name, value in properties.items()}


def said_of(spark: SparkSession) -> str:
    """All that Spark's UI shows of what was run: plans, descriptions, and what was changed in the configuration."""
    executions = spark._jsparkSession.sharedState().statusStore().executionsList()
    found = [executions.apply(number) for number in range(executions.size())]
    return "\n".join(f"{each.description()}{each.details()}{each.physicalPlanDescription()}" for each in found)


@pytest.mark.parametrize(
    ("server", "way"),
    [
        ("kafka", "SCRAM-SHA-512"),
        long("kafka", "mutual TLS"),
        long("kafka", "OAUTHBEARER"),
        ("barnabas", "SCRAM-SHA-512"),
        ("barnabas", "mutual TLS"),
        ("barnabas", "OAUTHBEARER"),
    ],
)
def test_a_stream_is_exact_over_a_secured_connection(
    spark: SparkSession, servers: Servers, tmp_path: Path, server: str, way: str
) -> None:
    kafka: SecuredServer = getattr(servers, server)
    plain, secured = kafka.address, options_of(kafka, way)
    name = way.lower().replace(" ", "-")
    source, target = f"source-{name}", f"target-{name}"
    for topic in (source, target):
        topics.create(plain, topic, 2)
    read = spark.readStream.format("barnabas").options(subscribe=source, startingOffsets="earliest", **secured)
    shown = ""
    for batch in range(2):
        topics.send(plain, source, (b"%d" % n for n in range(100 * batch, 100 * batch + 100)))
        writer = read.load().select("value", "partition").writeStream.format("barnabas")
        writer = writer.options(topic=target, checkpointLocation=str(tmp_path), **secured)
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(PATIENCE_S)
        shown += f"{query.recentProgress}{query._jsq.explainInternal(True)}"
    if server == "kafka":
        topics.wait_for_markers(plain, target)
    assert topics.numbers(plain, target) == list(range(200))
    rows = spark.range(200, 300, numPartitions=2).selectExpr("CAST(id AS STRING) AS value")
    for _ in range(2):
        rows.write.format("barnabas").options(topic=target, idempotencyKey="more", **secured).mode("append").save()
    if server == "kafka":
        topics.wait_for_markers(plain, target)
    assert topics.numbers(plain, target) == list(range(300))
    frame = spark.read.format("barnabas").options(subscribe=target, **secured).load()
    assert frame.count() == 300
    shown += said_of(spark) + frame._jdf.queryExecution().toString()
    shown += "".join(path.read_text(errors="replace") for path in tmp_path.rglob("*") if path.is_file())
    assert "barnabas" in shown
    for secret in (password_of(ALICE), STORE_PASSWORD):
        assert secret not in shown


def test_the_page_of_clients_works_as_written(
    spark: SparkSession, kafka: SecuredKafka, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "security" / "clients.md").read_text()
    program = page.split("\n## Spark\n")[1].split("```python needs=spark\n")[1].split("```")[0]
    program = program.replace("kafka.example:9093", address_of(kafka, SASL_SSL))
    exec(program.replace("/etc/kafka/ca.pem", str(kafka.security.trusted)), {"spark": spark})
    assert topics.committed(kafka.address, "castles")[0].value == b"one castle"
    assert "castles" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("listener", "changed", "sentence"),
    [
        (SASL_SSL, {"password": "wr0ng"}, "refused SCRAM-SHA-512: Authentication failed"),
        (SASL_SSL, {"ssl.truststore.location": "stranger.pem"}, "(ssl.truststore.* sets the trusted authorities"),
        (EXPIRED, {"security.protocol": "SSL"}, "is not accepted: certificate has expired"),
        (ELSEWHERE, {"security.protocol": "SSL"}, "certificate is not valid for '127.0.0.1'"),
        (SASL_SSL, {"security.protocol": "PLAINTEXT"}, "speaks TLS: set security.protocol to SSL or SASL_SSL"),
        (SASL_SSL, {"ssl.truststore.location": "/not/there.pem"}, "/not/there.pem: no such file"),
    ],
)
def test_a_refusal_is_reported_in_a_sentence(
    spark: SparkSession, kafka: SecuredKafka, tmp_path: Path, listener: str, changed: dict[str, str], sentence: str
) -> None:
    changed = dict(changed)
    password = changed.pop("password", None)
    properties = kafka.security.client_properties(ALICE, "SCRAM-SHA-512", password) | changed
    if changed.get("ssl.truststore.location") == "stranger.pem":
        properties["ssl.truststore.location"] = str(Authority("x").write(tmp_path / "stranger.pem"))
    secured: dict[str, Any] = {f"kafka.{name}": value for name, value in properties.items()}
    secured["kafka.bootstrap.servers"] = address_of(kafka, listener)
    rows = spark.range(1).selectExpr("CAST(id AS STRING) AS value").write.format("barnabas")
    with pytest.raises(BY_SPARK) as reading:
        spark.read.format("barnabas").options(subscribe="t", **secured).load().count()
    with pytest.raises(BY_SPARK) as writing:
        rows.options(topic="t", idempotencyKey="a", **secured).mode("append").save()
    for said in (str(reading.value), str(writing.value)):
        assert sentence in said
        assert "wr0ng" not in said
        assert password_of(ALICE) not in said
