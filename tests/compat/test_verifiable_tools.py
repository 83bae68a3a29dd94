"""Kafka's verifiable producer and consumers, which tell in JSON what they do: everything is written, and read once."""

import json
from pathlib import Path
from typing import Any

from tests.compat.model import PARTITIONS
from tests.compat.tools import TOPICS, Tools
from tests.support.clients.java import tool_command
from tests.support.processes.program import Program
from tests.support.processes.server import Server
from tests.support.waiting import until

THROUGHPUT = 300  # messages a second
DEADLINE_S = 60
ENDED_BY_SIGTERM = 143


class Verifiable(Program):
    """A verifiable producer or consumer of `topic`."""

    def __init__(self, server: Server, what: str, topic: str, *arguments: str) -> None:
        tool = f"org.apache.kafka.tools.Verifiable{what}"
        super().__init__(tool_command(tool, "--bootstrap-server", server.address, "--topic", topic, *arguments))

    def told(self, name: str) -> list[dict[str, Any]]:
        """The events of that name so far."""
        return [event for event in map(json.loads, self.lines) if event["name"] == name]

    def owned(self) -> set[int]:
        """A consumer's partitions now."""
        owned: set[int] = set()
        for event in map(json.loads, self.lines):
            places = {place["partition"] for place in event["partitions"]} if "partitions" in event else set()
            if event["name"] == "partitions_assigned":
                owned |= places
            if event["name"] == "partitions_revoked":
                owned -= places
        return owned

    def read(self) -> list[tuple[int, int, str]]:
        """The partition, offset and value of every record consumed."""
        return [(it["partition"], it["offset"], it["value"]) for it in self.told("record_data")]


def test_every_message_is_acknowledged_and_consumed_once_while_members_come_and_go(
    server: Server, tools: Tools, tmp_path: Path
) -> None:
    tools.ask(server, TOPICS, "--create", "--topic", "verified", "--partitions", str(PARTITIONS))
    (tmp_path / "consumer.properties").write_text("heartbeat.interval.ms=200\n")
    group = ("--group-id", "verifiers", "--verbose", "--reset-policy", "earliest")
    member = (*group, "--command-config", str(tmp_path / "consumer.properties"))
    everything = set(range(PARTITIONS))
    with (
        Verifiable(server, "Consumer", "verified", *member) as first,
        Verifiable(server, "Producer", "verified", "--throughput", str(THROUGHPUT)) as producer,
    ):
        producer.line(lambda line: "producer_send_success" in line)
        with Verifiable(server, "Consumer", "verified", *member) as second:
            until(lambda: second.read() and first.owned() | second.owned() == everything, DEADLINE_S)
            assert not first.owned() & second.owned()
            assert second.stop() == ENDED_BY_SIGTERM
        until(lambda: first.owned() == everything, DEADLINE_S)
        assert producer.stop() == ENDED_BY_SIGTERM
        acknowledged = [(it["partition"], it["offset"], it["value"]) for it in producer.told("producer_send_success")]
        until(lambda: len(first.read()) + len(second.read()) >= len(acknowledged), DEADLINE_S)
        assert first.stop() == ENDED_BY_SIGTERM
    assert producer.told("producer_send_error") == []
    [summary] = producer.told("tool_data")
    assert summary["sent"] == summary["acked"] == len(acknowledged)
    assert sorted(int(value) for _, _, value in acknowledged) == [*range(len(acknowledged))]
    assert sorted(first.read() + second.read()) == sorted(acknowledged)
    for consumer in (first, second):
        assert consumer.told("shutdown_complete")
        assert all(event["success"] for event in consumer.told("offsets_committed"))
