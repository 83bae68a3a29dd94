"""Kafka's own tools before a broker that is several nodes: replicas moved under a throttle, and a stopped node."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas import Barnabas
from tests.compat.tools import CLUSTER, LOG_DIRS, QUORUM, REASSIGN, TOPICS, Tools

RACKS = ["a", "b", "c"]


@pytest.fixture
def broker() -> Iterator[Barnabas]:
    with Barnabas(brokers=3, topics={"t": 3}, config={"broker.rack": RACKS, "default.replication.factor": 2}) as broker:
        yield broker


def said(tools: Tools, broker: Barnabas, tool: str, *words: str) -> str:
    answer = tools.run(tool, "--bootstrap-server", broker.bootstrap_servers, *words)
    assert answer.status == 0, answer
    return answer.out


def test_replicas_are_moved_under_a_throttle_that_every_node_takes_and_gives_up(
    broker: Barnabas, tools: Tools, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.json"
    moved = {"topic": "t", "partition": 0, "replicas": [3, 1]}
    plan.write_text(json.dumps({"version": 1, "partitions": [moved]}))
    words = ["--reassignment-json-file", str(plan)]
    assert "throttle limit was set to 1000 B/s" in said(
        tools, broker, REASSIGN, "--execute", *words, "--throttle", "1000"
    )
    verified = said(tools, broker, REASSIGN, "--verify", *words)
    assert "Reassignment of partition t-0 is completed." in verified
    assert "Clearing broker-level throttles on brokers 1,2,3" in verified
    assert re.search(r"Partition: 0\s+Leader: \d\s+Replicas: 3,1", said(tools, broker, TOPICS, "--describe"))


def test_a_stopped_node_is_fenced_and_its_replicas_are_missed(broker: Barnabas, tools: Tools) -> None:
    broker.stop_node(3)
    address = "--bootstrap-server", broker.bootstrap_servers  # a subcommand's option here
    nodes = tools.run(CLUSTER, "list-endpoints", *address, "--include-fenced-brokers").out
    assert re.findall(r"^(\d)\s+\S+\s+\d+\s+(\w) (\w+)", nodes, re.MULTILINE) == [
        ("1", "a", "unfenced"),
        ("2", "b", "unfenced"),
        ("3", "c", "fenced"),
    ]
    missed = said(tools, broker, TOPICS, "--describe", "--under-replicated-partitions")
    assert [("3" in replicas) for replicas in placed(missed)] == [True, True], "each node has two of three partitions"
    quorum = said(tools, broker, QUORUM, "describe", "--replication")
    assert re.findall(r"^(\d)\s.*\s(Leader|Observer)\s*$", quorum, re.MULTILINE) == [("1", "Leader"), ("2", "Observer")]
    described = said(tools, broker, LOG_DIRS, "--describe", "--topic-list", "t")
    (listed,) = [json.loads(line) for line in described.splitlines() if line.startswith("{")]
    assert {each["broker"]: len(each["logDirs"][0]["partitions"]) for each in listed["brokers"]} == {1: 2, 2: 2}


def placed(described: str) -> list[str]:
    """The replicas of each partition that is listed."""
    return re.findall(r"Partition: \d.*Replicas: (\S+)", described)
