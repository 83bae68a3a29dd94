"""Stock clients push their metrics without any setting of theirs, and /metrics serves them (KIP-714)."""

import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.tools import CLIENT_METRICS, PRODUCER, TOPICS, Tools
from tests.support.processes.broker import BrokerProcess
from tests.support.waiting import until


@pytest.fixture
def broker(tmp_path: Path, tools: Tools) -> Iterator[BrokerProcess]:
    """One that wants all metrics, ten times a second."""
    settings = {"barnabas.client.telemetry.enable": "true"}
    with BrokerProcess(tmp_path / "data", settings, flags=["--http", "127.0.0.1:0"]) as broker:
        wish = ("--name", "all", "--metrics", "*", "--interval", "100")
        tools.ask(broker, CLIENT_METRICS, "--alter", *wish)
        tools.ask(broker, TOPICS, "--create", "--topic", "t")
        yield broker


def metrics(broker: BrokerProcess) -> str:
    (address,) = re.findall(r"http listening address=(\S+)", broker.log)
    with urllib.request.urlopen(f"http://{address}/metrics") as answer:
        return str(answer.read(), "utf-8")


def requests(text: str, api: str) -> float:
    name = "kafka_network_requestmetrics_requests_total"
    return sum(map(float, re.findall(rf'^{name}{{request="{api}",.*}} (\S+)$', text, re.MULTILINE)))


def test_librdkafka_is_seen_while_it_is_there(broker: BrokerProcess) -> None:
    from confluent_kafka import Producer

    def while_it_is_there() -> None:
        producer = Producer({"bootstrap.servers": broker.address, "client.id": "watched"})
        producer.produce("t", b"x")
        until(lambda: 'barnabas_client_producer_connection_creation_total{client_id="watched"' in metrics(broker))
        producer.flush()

    while_it_is_there()  # a producer that nobody has is closed
    until(lambda: "barnabas_client_" not in metrics(broker))


def test_javas_client_pushes_when_it_ends(broker: BrokerProcess, tools: Tools) -> None:
    tools.ask(broker, PRODUCER, "--topic", "t", stdin="a\nb\n")
    until(lambda: requests(metrics(broker), "PushTelemetry") >= 1)
    text = metrics(broker)
    assert requests(text, "GetTelemetrySubscriptions") >= 1
    assert [line for line in text.splitlines() if "errors_total{" in line and '"PushTelemetry"' in line] == []
    assert "Traceback" not in broker.log
