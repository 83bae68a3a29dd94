"""Kafka's tools for leaders, replicas, voters and brokers, on one node: it has nothing to move, and they say so."""

import json
import re
from pathlib import Path

import pytest

from tests.compat.model import PARTITIONS
from tests.compat.tools import CLUSTER, CONFIGS, LEADER_ELECTION, QUORUM, REASSIGN, TOPICS, Tools
from tests.support.processes.server import Server

NOT_NEEDED = "Valid replica already elected for partitions "


@pytest.fixture(scope="module")
def topic(server: Server, tools: Tools) -> str:
    tools.ask(server, TOPICS, "--create", "--topic", "settled")
    return "settled"


# --- leaders ---


@pytest.mark.parametrize("kind", ["preferred", "unclean"])
def test_each_partition_has_its_leader(server: Server, tools: Tools, topic: str, tmp_path: Path, kind: str) -> None:
    elect = (LEADER_ELECTION, "--election-type", kind)
    one = tools.ask(server, *elect, "--topic", topic, "--partition", "1")
    assert one == f"{NOT_NEEDED}{topic}-1\n"
    numbers = [{"topic": topic, "partition": number} for number in range(PARTITIONS)]
    (tmp_path / "elections.json").write_text(json.dumps({"partitions": numbers}))
    some = tools.ask(server, *elect, "--path-to-json-file", str(tmp_path / "elections.json"))
    assert sorted(some.removeprefix(NOT_NEEDED).strip().split(", ")) == [f"{topic}-{n}" for n in range(PARTITIONS)]
    assert tools.ask(server, *elect, "--all-topic-partitions") == ""


def test_no_leader_is_elected_for_what_is_not_there(server: Server, tools: Tools, topic: str) -> None:
    elect = (LEADER_ELECTION, "--election-type", "preferred", "--topic")
    said = tools.fail(server, *elect, "absent", "--partition", "0")
    assert re.search(r"partition: absent-0: \S+UnknownTopicOrPartitionException: No such topic as absent\n", said)
    said = tools.fail(server, *elect, topic, "--partition", "9")
    assert f"UnknownTopicOrPartitionException: No such partition as {topic}-9\n" in said


# --- replicas ---


def moves(path: Path, topic: str, replicas: list[int], directory: str | None = None) -> tuple[str, str]:
    """The arguments that name moves of partition 0, written to `path`."""
    move: dict[str, object] = {"topic": topic, "partition": 0, "replicas": replicas}
    if directory is not None:
        move["log_dirs"] = [directory] * len(replicas)
    path.write_text(json.dumps({"version": 1, "partitions": [move]}))
    return "--reassignment-json-file", str(path)


def test_a_partition_is_where_it_can_be(server: Server, tools: Tools, topic: str, tmp_path: Path) -> None:
    wish = moves(tmp_path / "moves.json", topic, [1], str(server.data_dir))
    said = tools.ask(server, REASSIGN, "--execute", *wish)
    assert f"Successfully started partition reassignment for {topic}-0\n" in said
    assert f"Successfully started moving log directory to {server.data_dir} for replica {topic}-0 with broker 1" in said
    said = tools.ask(server, REASSIGN, "--verify", *wish)
    assert f"Reassignment of partition {topic}-0 is completed.\n" in said
    assert f"Reassignment of replica {topic}-0-1 completed successfully.\n" in said
    assert tools.ask(server, REASSIGN, "--list") == "No partition reassignments found.\n"
    assert "None of the specified partition reassignments are active.\n" in tools.ask(
        server, REASSIGN, "--cancel", *wish
    )


def test_a_partition_goes_nowhere_else(server: Server, tools: Tools, topic: str, tmp_path: Path) -> None:
    said = tools.fail(server, REASSIGN, "--execute", *moves(tmp_path / "moves.json", topic, [2]))
    assert "Unknown broker id 2" in said


# --- the quorum ---


def test_the_quorum_is_described(server: Server, tools: Tools) -> None:
    status = tools.ask(server, QUORUM, "describe", "--status")
    told = dict(re.findall(r"^(\w+): +(.*)$", status, re.MULTILINE))
    meta = dict(line.split("=", 1) for line in (server.data_dir / "meta.properties").read_text().split() if "=" in line)
    assert (told["ClusterId"], told["LeaderId"], told["MaxFollowerLag"]) == (meta["cluster.id"], "1", "0")
    assert int(told["HighWatermark"]) > 0
    assert told["CurrentVoters"].startswith(f'[{{"id": 1, "directoryId": "{meta["directory.id"]}"')
    assert told["CurrentObservers"] == "[]"
    _, row = tools.ask(server, QUORUM, "describe", "--replication", "--human-readable").strip().splitlines()
    assert re.fullmatch(rf"1\s+{re.escape(meta['directory.id'])}\s+\d+\s+0\s+\d+ ms ago\s+\d+ ms ago\s+Leader\s*", row)


def test_the_only_voter_stays(server: Server, tools: Tools) -> None:
    meta = dict(line.split("=", 1) for line in (server.data_dir / "meta.properties").read_text().split() if "=" in line)
    remove = ("remove-controller", "--controller-id", "1", "--controller-directory-id", meta["directory.id"])
    assert "VoterNotFoundException: Cannot remove voter" in tools.fail(server, QUORUM, *remove)


# --- brokers and what has settings ---


def test_a_broker_that_is_not_there_is_not_unregistered(server: Server, tools: Tools) -> None:
    said = tools.run(CLUSTER, "unregister", "--bootstrap-server", server.address, "--id", "7")
    assert said.status > 0
    assert "Broker ID 7 is not currently registered" in said.out + said.err


@pytest.mark.parametrize("kind", ["client-metrics", "groups"])
def test_nothing_has_settings_that_nobody_made(server: Server, tools: Tools, kind: str) -> None:
    assert tools.ask(server, CONFIGS, "--describe", "--entity-type", kind) == ""
