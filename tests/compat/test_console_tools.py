"""Kafka's own console tools: topics made and described, lines written with every compression and read back."""

import re

import pytest

from tests.compat.model import COMPRESSIONS
from tests.compat.tools import CONSUMER, PRODUCER, TOPICS, Tools
from tests.support.processes.server import Server


def test_a_topic_is_made_described_changed_and_deleted(server: Server, tools: Tools) -> None:
    made = ["--create", "--topic", "made", "--partitions", "2", "--config", "retention.ms=3600000"]
    assert "Created topic made." in tools.ask(server, TOPICS, *made)

    described = tools.ask(server, TOPICS, "--describe", "--topic", "made")
    assert re.search(r"PartitionCount: 2\s+ReplicationFactor: 1\s+Configs: .*retention\.ms=3600000", described)
    assert re.search(r"Partition: 1\s+Leader: 1\s+Replicas: 1\s+Isr: 1", described)

    tools.ask(server, TOPICS, "--alter", "--topic", "made", "--partitions", "5")
    assert "PartitionCount: 5" in tools.ask(server, TOPICS, "--describe", "--topic", "made")

    tools.ask(server, TOPICS, "--delete", "--topic", "made")
    assert "made" not in tools.ask(server, TOPICS, "--list").split()


def test_topics_are_told_by_the_state_of_their_partitions(server: Server, tools: Tools) -> None:
    tools.ask(server, TOPICS, "--create", "--topic", "placed", "--replica-assignment", "1,1")
    tools.ask(server, TOPICS, "--create", "--topic", "placed", "--if-not-exists")
    placed = ["--describe", "--topic", "placed"]
    assert len(re.findall(r"Topic: placed\s+Partition: \d\s+Leader: 1", tools.ask(server, TOPICS, *placed))) == 2
    at_minimum = tools.ask(server, TOPICS, *placed, "--at-min-isr-partitions")
    assert at_minimum.count("Partition:") == 2  # one replica in sync is as few as may be
    for state in ("under-replicated", "unavailable", "under-min-isr"):
        assert tools.ask(server, TOPICS, *placed, f"--{state}-partitions") == ""


@pytest.mark.parametrize(
    ("wish", "refusal"),
    [
        ("--create --topic there", "Topic 'there' already exists."),
        ("--create --topic x --replication-factor 3", "The target replication factor of 3 cannot be reached"),
        ("--create --topic x --partitions 0", "The partitions must be greater than 0"),
        ("--create --topic x --config retention.ms=soon", "Invalid value soon for configuration retention.ms"),
        ("--create --topic x --config no.such=1", "Unknown topic config name: no.such"),
        ("--create --topic a:b", "Topic name is invalid: 'a:b' contains one or more characters other than"),
        ("--create --topic x --replica-assignment 1,7", "includes broker 7, but no such broker is registered"),
        ("--create --topic x --replica-assignment 1:1", "Partition replica lists may not contain duplicate entries"),
        ("--alter --topic there --partitions 1", "currently has 2 partition(s); 1 would not be an increase"),
        ("--alter --topic absent --partitions 2", "Topic 'absent' does not exist as expected"),
        ("--describe --topic absent", "Topic 'absent' does not exist as expected"),
        ("--delete --topic absent", "Topic 'absent' does not exist as expected"),
    ],
)
def test_what_cannot_be_done_to_a_topic_is_said(server: Server, tools: Tools, wish: str, refusal: str) -> None:
    tools.ask(server, TOPICS, "--create", "--topic", "there", "--partitions", "2", "--if-not-exists")
    assert refusal in tools.fail(server, TOPICS, *wish.split())
    assert "x" not in tools.ask(server, TOPICS, "--list").split()


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_lines_are_written_and_read_back(server: Server, tools: Tools, compression: str) -> None:
    topic = f"lines-{compression}"
    lines = [f"{number}: a line of text, \u00e4\u20ac" for number in range(200)]
    arguments = ["--topic", topic, "--compression-codec", compression]
    tools.ask(server, PRODUCER, *arguments, stdin="".join(f"{line}\n" for line in lines))

    until_done = ["--from-beginning", "--max-messages", str(len(lines)), "--timeout-ms", "30000"]
    found = tools.ask(server, CONSUMER, "--topic", topic, *until_done).splitlines()
    assert sorted(found) == sorted(lines)


def test_keys_and_headers_are_written_and_a_group_reads_them(server: Server, tools: Tools) -> None:
    parse = ["--reader-property", "parse.key=true", "--reader-property", "parse.headers=true"]
    tools.ask(server, PRODUCER, "--topic", "keyed", *parse, stdin="h1:v1,h2:v2\tkey\tvalue\n")

    show = [f"print.{part}=true" for part in ("key", "headers", "partition", "offset")]
    arguments = [word for each in show for word in ("--formatter-property", each)]
    arguments += ["--group", "console", "--from-beginning", "--max-messages", "1", "--timeout-ms", "30000"]
    line = tools.ask(server, CONSUMER, "--topic", "keyed", *arguments)
    assert re.fullmatch(r"Partition:\d\tOffset:0\th1:v1,h2:v2\tkey\tvalue\n", line)
