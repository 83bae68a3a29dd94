"""Kafka's tools for data directories, on a broker that has two: where partitions lie, and moving them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.conftest import NewServer
from tests.compat.tools import LOG_DIRS, REASSIGN, TOPICS, Tools
from tests.support.clients import topics
from tests.support.processes.server import Server
from tests.support.waiting import until

RECORDS = 3_000
Places = tuple[str, str]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    base = tmp_path_factory.mktemp("directories")
    return str(base / "one"), str(base / "two")


@pytest.fixture(scope="module")
def server(places: Places, new_server: NewServer) -> Iterator[Server]:
    with new_server(Path(places[0]), {"log.dirs": ",".join(places), "auto.create.topics.enable": "false"}) as server:
        yield server


def described(server: Server, tools: Tools, topic: str) -> dict[int, list[tuple[str, bool]]]:
    """By partition: the directories that have it, and whether as a copy."""
    text = tools.ask(server, LOG_DIRS, "--describe", "--topic-list", topic)
    (broker,) = json.loads(text[text.index("{") :])["brokers"]
    found: dict[int, list[tuple[str, bool]]] = {}
    for directory in broker["logDirs"]:
        assert directory["error"] is None
        for partition in directory["partitions"]:
            number = int(partition["partition"].rpartition("-")[2])
            found.setdefault(number, []).append((directory["logDir"], partition["isFuture"]))
    return found


def test_new_partitions_are_spread_over_the_directories(server: Server, tools: Tools, places: Places) -> None:
    tools.ask(server, TOPICS, "--create", "--topic", "spread", "--partitions", "6")
    until(lambda: len(described(server, tools, "spread")) == 6)
    found = [directory for ((directory, _),) in described(server, tools, "spread").values()]
    assert (found.count(places[0]), found.count(places[1])) == (3, 3)


def test_a_partition_is_moved_by_the_tool_and_what_was_in_it_is_there(
    server: Server, tools: Tools, places: Places, tmp_path: Path
) -> None:
    tools.ask(server, TOPICS, "--create", "--topic", "moved", "--partitions", "1")
    topics.send(server.address, "moved", (b"%d" % number for number in range(RECORDS)))
    ((place, _),) = described(server, tools, "moved")[0]
    (other,) = {*places} - {place}
    wish = tmp_path / "moves.json"
    move = {"topic": "moved", "partition": 0, "replicas": [1], "log_dirs": [other]}
    wish.write_text(json.dumps({"version": 1, "partitions": [move]}), encoding="utf-8")
    said = tools.ask(server, REASSIGN, "--execute", "--reassignment-json-file", str(wish))
    assert f"Successfully started moving log directory to {other} for replica moved-0 with broker 1" in said

    def verified() -> str:
        return tools.ask(server, REASSIGN, "--verify", "--reassignment-json-file", str(wish))

    until(lambda: "Reassignment of replica moved-0-1 completed successfully." in verified())
    assert described(server, tools, "moved") == {0: [(other, False)]}
    topics.send(server.address, "moved", (b"%d" % number for number in range(RECORDS, 2 * RECORDS)))
    found = [int(record.value) for record in topics.committed(server.address, "moved")]
    assert found == list(range(2 * RECORDS))
