"""Kafka's tools for administrators, where what they say is the broker's own: ids, APIs, directories, voters, loggers.

What they say in the same words of Apache Kafka is in tests/oracle/tools.
"""

import json
import re
from pathlib import Path

import pytest

from barnabas.broker.api.api_table import API_TABLE
from tests.compat.tools import API_VERSIONS, CLUSTER, CONFIGS, FEATURES, QUORUM, REASSIGN, TOPICS, Tools
from tests.support.processes.server import Server

OF_LOGGERS = ("--entity-type", "broker-loggers", "--entity-name", "1")


@pytest.fixture(scope="module")
def meta(server: Server) -> dict[str, str]:
    """What the data directory says of its node."""
    lines = (server.data_dir / "meta.properties").read_text().split()
    return dict(line.split("=", 1) for line in lines if "=" in line)


def test_the_cluster_and_its_endpoint_are_told(server: Server, tools: Tools, meta: dict[str, str]) -> None:
    told = tools.run(CLUSTER, "cluster-id", "--bootstrap-server", server.address)
    assert told.out.strip() == f"Cluster ID: {meta['cluster.id']}"
    told = tools.run(CLUSTER, "list-endpoints", "--bootstrap-server", server.address)
    assert [line.split() for line in told.out.splitlines()] == [
        ["ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE"],
        ["1", "127.0.0.1", str(server.port), "null", "unfenced", "broker"],
    ]


def test_every_api_is_offered_in_the_versions_that_kafka_offers(server: Server, tools: Tools) -> None:
    told = tools.ask(server, API_VERSIONS)
    assert told.startswith(f"{server.address} (id: 1 rack: null isFenced: false) -> (")
    ranges = {
        int(key): (int(low), int(high or low), int(usable))
        for key, low, high, usable in re.findall(
            r"^\t\w+\((\d+)\): (\d+)(?: to (\d+))? \[usable: (\d+)\]", told, re.MULTILINE
        )
    }
    for row in API_TABLE:
        assert ranges[row.key] == (row.advertised_min_version, row.max_version, row.max_version)


def test_features_are_described(server: Server, tools: Tools) -> None:
    row = r"^Feature: (\S+)\s+SupportedMinVersion: (\S+)\s+SupportedMaxVersion: (\S+)"
    told = {name: (low, high) for name, low, high in re.findall(row, tools.ask(server, FEATURES, "describe"), re.M)}
    assert told["metadata.version"] == ("3.3-IV3", "4.4-IV2")
    assert told["kraft.version"] == told["eligible.leader.replicas.version"] == ("0", "1")


def test_a_partition_is_where_it_can_be(server: Server, tools: Tools, tmp_path: Path) -> None:
    tools.ask(server, TOPICS, "--create", "--topic", "settled")
    move = {"topic": "settled", "partition": 0, "replicas": [1], "log_dirs": [str(server.data_dir)]}
    (tmp_path / "moves.json").write_text(json.dumps({"version": 1, "partitions": [move]}))
    wish = ("--reassignment-json-file", str(tmp_path / "moves.json"))
    said = tools.ask(server, REASSIGN, "--execute", *wish)
    assert "Successfully started partition reassignment for settled-0\n" in said
    assert f"Successfully started moving log directory to {server.data_dir} for replica settled-0 with broker 1" in said
    said = tools.ask(server, REASSIGN, "--verify", *wish)
    assert "Reassignment of partition settled-0 is completed.\n" in said
    assert "Reassignment of replica settled-0-1 completed successfully.\n" in said


def test_the_quorum_is_described(server: Server, tools: Tools, meta: dict[str, str]) -> None:
    status = tools.ask(server, QUORUM, "describe", "--status")
    told = dict(re.findall(r"^(\w+): +(.*)$", status, re.MULTILINE))
    assert (told["ClusterId"], told["LeaderId"], told["MaxFollowerLag"]) == (meta["cluster.id"], "1", "0")
    assert int(told["HighWatermark"]) > 0
    assert told["CurrentVoters"].startswith(f'[{{"id": 1, "directoryId": "{meta["directory.id"]}"')
    assert told["CurrentObservers"] == "[]"
    _, row = tools.ask(server, QUORUM, "describe", "--replication", "--human-readable").strip().splitlines()
    assert re.fullmatch(rf"1\s+{re.escape(meta['directory.id'])}\s+\d+\s+0\s+\d+ ms ago\s+\d+ ms ago\s+Leader\s*", row)


def test_the_only_voter_stays(server: Server, tools: Tools, meta: dict[str, str]) -> None:
    remove = ("remove-controller", "--controller-id", "1", "--controller-directory-id", meta["directory.id"])
    assert "VoterNotFoundException: Cannot remove voter" in tools.fail(server, QUORUM, *remove)


def test_a_broker_that_is_not_there_is_not_unregistered(server: Server, tools: Tools) -> None:
    said = tools.run(CLUSTER, "unregister", "--bootstrap-server", server.address, "--id", "7")
    assert said.status > 0
    assert "Broker ID 7 is not currently registered" in said.out + said.err


def level(server: Server, tools: Tools, name: str) -> str:
    told = tools.ask(server, CONFIGS, "--describe", *OF_LOGGERS)
    assert told.startswith("Dynamic configs for broker-logger 1 are:\n")
    found: dict[str, str] = dict(re.findall(r"^  (\S+?)=(\w+) sensitive=false synonyms=\{\}$", told, re.MULTILINE))
    return found[name]


def test_the_level_of_a_logger_is_changed_while_the_broker_runs(server: Server, tools: Tools) -> None:
    before = level(server, tools, "root")
    said = tools.ask(server, CONFIGS, "--alter", *OF_LOGGERS, "--add-config", "root=WARN")
    assert said == "Completed updating config for broker-logger 1.\n"
    assert level(server, tools, "root") == "WARN"
    tools.ask(server, CONFIGS, "--alter", *OF_LOGGERS, "--add-config", f"root={before}")
    assert level(server, tools, "root") == before
