"""Data in two directories go back and forth between this broker and Apache Kafka, and stay where they are.

Kafka has the settings that `barnabas handover` prints for both directories, which it checks after each turn.
"""

from pathlib import Path

import pytest

from barnabas.client.admin.topics import create_topic
from barnabas.client.client import Client
from tests.support.clients import topics
from tests.support.depth import long
from tests.support.kafka.handed_over import HandedOverKafka, handover
from tests.support.kafka.jars import KAFKA_VERSION
from tests.support.kafka.process import KafkaProcess
from tests.support.processes.broker import BrokerProcess
from tests.support.processes.server import Server

PARTITIONS, RECORDS = 5, 200
FORBIDDEN = (
    *("marked stray", "Recovering ", "caused truncation of conflicting entries", "using an unclean election"),
    *("Found invalid messages", "Corrupt", "ERROR"),
)
OF_ITS_OWN = ("__cluster_metadata", "CONTROLLER_REGISTRATION")
"""What Kafka logs of its controller, which recovers its own log, and registers again where it did so too early."""


def ours(directories: list[Path]) -> BrokerProcess:
    return BrokerProcess(directories[0], {"log.dirs": ",".join(map(str, directories))})


def kafkas(directories: list[Path]) -> KafkaProcess:
    return HandedOverKafka(directories[0], {}, {}, KAFKA_VERSION, directories[1:])


def produce(server: Server, first: int) -> None:
    values = (b"%d" % number for number in range(first, first + RECORDS))
    topics.send(server.address, "words", values, enable_idempotence=True)


def check_handover(directories: list[Path]) -> None:
    """Ready where all directories are named, and where one is not it is the partitions there that are missed."""
    assert handover("--check", *map(str, directories))[0] == 0
    status, said = handover("--check", str(directories[0]))
    assert status == 1
    assert "in a data directory that was not given -> name all data directories of the node" in said


def places(directories: list[Path]) -> list[list[str]]:
    return [sorted(each.name for each in directory.glob("words-*")) for directory in directories]


@pytest.mark.parametrize("first", ["ours", long("kafkas")])
def test_two_directories_change_hands(tmp_path: Path, first: str) -> None:
    directories = [tmp_path / "one", tmp_path / "two"]
    turns = [ours, kafkas, ours] if first == "ours" else [kafkas, ours, kafkas]
    before: list[list[str]] = []
    for turn, start in enumerate(turns):
        with start(directories) as server:
            if turn == 0:
                with Client(server.address) as client:
                    create_topic(client, "words", partitions=PARTITIONS)
            else:
                assert topics.numbers(server.address, "words") == list(range(turn * RECORDS))
            produce(server, turn * RECORDS)
            server.stop()
            check_handover(directories)
            if isinstance(server, KafkaProcess):
                lines = [line for line in server.log.splitlines() if not any(word in line for word in OF_ITS_OWN)]
                assert turn == 0 or [line for line in lines if any(word in line for word in FORBIDDEN)] == []
        if turn == 0:
            before = places(directories)
            assert sorted(map(len, before)) == [2, 3]
        assert places(directories) == before, start
