"""Kafka's own console tools: topics made and described, lines written with every compression and read back."""

from __future__ import annotations

import re

import pytest

from tests.compat.model import COMPRESSIONS
from tests.support.java import run_tool
from tests.support.server import Server

TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
DELETE_RECORDS = "org.apache.kafka.tools.DeleteRecordsCommand"


def _tool(server: Server, main_class: str, *arguments: str, stdin: str | None = None) -> str:
    return run_tool(main_class, "--bootstrap-server", server.address, *arguments, stdin=stdin)


def test_a_topic_is_made_described_changed_and_deleted(server: Server) -> None:
    made = ["--create", "--topic", "made", "--partitions", "2", "--config", "retention.ms=3600000"]
    assert "Created topic made." in _tool(server, TOPICS, *made)

    described = _tool(server, TOPICS, "--describe", "--topic", "made")
    assert re.search(r"PartitionCount: 2\s+ReplicationFactor: 1\s+Configs: .*retention\.ms=3600000", described)
    assert re.search(r"Partition: 1\s+Leader: 1\s+Replicas: 1\s+Isr: 1", described)

    _tool(server, TOPICS, "--alter", "--topic", "made", "--partitions", "5")
    assert "PartitionCount: 5" in _tool(server, TOPICS, "--describe", "--topic", "made")

    _tool(server, TOPICS, "--delete", "--topic", "made")
    assert "made" not in _tool(server, TOPICS, "--list").split()


def test_a_topics_settings_are_changed_and_described(server: Server) -> None:
    _tool(server, TOPICS, "--create", "--topic", "configured", "--partitions", "1")
    entity = ["--entity-type", "topics", "--entity-name", "configured"]

    _tool(server, CONFIGS, "--alter", *entity, "--add-config", "max.message.bytes=2048,cleanup.policy=[compact,delete]")
    described = _tool(server, CONFIGS, "--describe", *entity)
    assert "max.message.bytes=2048" in described
    assert "cleanup.policy=compact,delete" in described

    _tool(server, CONFIGS, "--alter", *entity, "--delete-config", "max.message.bytes")
    assert "max.message.bytes" not in _tool(server, CONFIGS, "--describe", *entity)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_lines_are_written_and_read_back(server: Server, compression: str) -> None:
    topic = f"lines-{compression}"
    lines = [f"{number}: a line of text, \u00e4\u20ac" for number in range(200)]
    arguments = ["--topic", topic, "--compression-codec", compression]
    _tool(server, PRODUCER, *arguments, stdin="".join(f"{line}\n" for line in lines))

    until_done = ["--from-beginning", "--max-messages", str(len(lines)), "--timeout-ms", "30000"]
    found = _tool(server, CONSUMER, "--topic", topic, *until_done).splitlines()
    assert sorted(found) == sorted(lines)


def test_keys_and_headers_are_written_and_a_group_reads_them(server: Server) -> None:
    parse = ["--reader-property", "parse.key=true", "--reader-property", "parse.headers=true"]
    _tool(server, PRODUCER, "--topic", "keyed", *parse, stdin="h1:v1,h2:v2\tkey\tvalue\n")

    show = [f"print.{part}=true" for part in ("key", "headers", "partition", "offset")]
    arguments = [word for each in show for word in ("--formatter-property", each)]
    arguments += ["--group", "console", "--from-beginning", "--max-messages", "1", "--timeout-ms", "30000"]
    line = _tool(server, CONSUMER, "--topic", "keyed", *arguments)
    assert re.fullmatch(r"Partition:\d\tOffset:0\th1:v1,h2:v2\tkey\tvalue\n", line)


def test_offsets_are_told_and_records_deleted(server: Server, tmp_path_factory: pytest.TempPathFactory) -> None:
    _tool(server, TOPICS, "--create", "--topic", "shortened", "--partitions", "1")
    _tool(server, PRODUCER, "--topic", "shortened", stdin="".join(f"{number}\n" for number in range(10)))
    assert _tool(server, OFFSETS, "--topic", "shortened").split() == ["shortened:0:10"]

    wish = tmp_path_factory.mktemp("delete") / "wish.json"
    wish.write_text('{"version": 1, "partitions": [{"topic": "shortened", "partition": 0, "offset": 4}]}')
    assert "low_watermark: 4" in _tool(server, DELETE_RECORDS, "--offset-json-file", str(wish))
    assert _tool(server, OFFSETS, "--topic", "shortened", "--time", "earliest").split() == ["shortened:0:4"]
