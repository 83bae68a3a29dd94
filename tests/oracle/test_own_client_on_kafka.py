"""Our own client and command line against Apache Kafka: 4.4.0 in every run, older releases with --long."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.cli import main
from barnabas.client.client import Client
from barnabas.client.offsets import committed_offsets
from tests.support.clients.committed import begun
from tests.support.command_line import Outcome, run_here
from tests.support.kafka.jars import KAFKA_VERSION, OLDER_VERSIONS
from tests.support.kafka.process import KafkaProcess
from tests.support.processes.server import Server
from tests.support.waiting import until

VERSIONS = [KAFKA_VERSION, *(pytest.param(version, marks=pytest.mark.long) for version in OLDER_VERSIONS)]
LINES = [f"line {number}" for number in range(500)]
COORDINATORS = {"offsets.topic.num.partitions": 1, "transaction.state.log.num.partitions": 1}


@pytest.fixture(scope="module", params=VERSIONS)
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("kafka") / "data"
    with KafkaProcess(data, COORDINATORS, version=request.param) as server:
        yield server


class CommandLine:
    """`barnabas` against one broker; each command must succeed."""

    def __init__(self, server: Server, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
        self._address = server.address
        self._main = run_here(main, capsysbinary)

    def __call__(self, *words: str) -> str:
        said: Outcome = self._main(*words, "--bootstrap-server", self._address)
        assert (said.status, said.stderr) == (0, ""), words
        return said.stdout

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "--json"))


@pytest.fixture
def barnabas(kafka: Server, capsysbinary: pytest.CaptureFixture[bytes]) -> CommandLine:
    return CommandLine(kafka, capsysbinary)


def test_topics_and_their_settings(barnabas: CommandLine) -> None:
    barnabas("topics", "create", "life", "--partitions", "2", "--config", "retention.ms=-1")
    until(lambda: "life\n" in barnabas("topics", "list"))
    barnabas("topics", "alter", "life", "--partitions", "3")
    until(lambda: len(barnabas.json("topics", "describe", "life")[0]["partitions"]) == 3)
    barnabas("configs", "alter", "--topic", "life", "--set", "flush.ms=5")
    until(lambda: ["flush.ms", "5", "topic"] in [line.split() for line in _configs(barnabas, "life")])
    assert "num.partitions" in barnabas("configs", "describe", "--broker", "1", "--all")
    barnabas("topics", "delete", "life")
    until(lambda: "life\n" not in barnabas("topics", "list"))


def _configs(barnabas: CommandLine, topic: str) -> list[str]:
    return barnabas("configs", "describe", "--topic", topic).splitlines()


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_lines_come_back(barnabas: CommandLine, tmp_path: Path, compression: str) -> None:
    topic = f"lines-{compression}"
    (tmp_path / "lines").write_text("".join(f"{line}\n" for line in LINES))
    barnabas("topics", "create", topic, "--partitions", "1")
    barnabas("produce", topic, str(tmp_path / "lines"), "--compression", compression)
    assert barnabas("consume", topic, "--from-beginning", "--exit-at-end").splitlines() == LINES


def test_a_group_is_read_with_told_moved_and_deleted(barnabas: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("".join(f"{line}\n" for line in LINES))
    barnabas("topics", "create", "grouped", "--partitions", "1")
    barnabas("produce", "grouped", str(tmp_path / "lines"))
    read = ["consume", "grouped", "--group", "readers", "--from-beginning"]
    assert barnabas(*read, "--max-messages", "3").splitlines() == LINES[:3]
    assert "readers" in {group["group"] for group in barnabas.json("groups", "list")}
    [place] = barnabas.json("groups", "offsets", "readers")["offsets"]
    assert (place["current_offset"], place["lag"]) == (3, 497)
    barnabas("groups", "reset", "readers", "--topic", "grouped", "--shift-by", "490", "--execute")
    assert barnabas(*read, "--exit-at-end").splitlines() == LINES[493:]
    barnabas("groups", "delete", "readers")
    assert "readers" not in {group["group"] for group in barnabas.json("groups", "list")}


def test_transactions_are_made_told_and_ended(barnabas: CommandLine, kafka: Server) -> None:
    barnabas("topics", "create", "transacted", "--partitions", "1")
    with Client(kafka.address) as client:
        producer = begun(client, "committed")
        producer.send("transacted", b"whole", partition=0)
        producer.send_offsets({("transacted", 0): 1}, "transacted-readers")
        producer.commit()
        until(lambda: committed_offsets(client, "transacted-readers") == {("transacted", 0): 1})
        left = begun(client, "left")
        left.send("transacted", b"half", partition=0)
        left.flush()
        states = {each["transactional_id"]: each["state"] for each in barnabas.json("txn", "list")}
        assert states["left"] == "Ongoing"
        barnabas("txn", "describe", "left")
        barnabas("txn", "find-hanging")
        barnabas("txn", "abort", "left")
    until(lambda: "Ongoing" not in barnabas("txn", "list"))
    read = ["consume", "transacted", "--from-beginning", "--exit-at-end", "--isolation", "read_committed"]
    until(lambda: barnabas(*read).splitlines() == ["whole"])


def test_the_doctor_finds_nothing(barnabas: CommandLine) -> None:
    barnabas("doctor")
