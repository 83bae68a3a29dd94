"""The classic program that consumes, transforms and produces, on the Java client, new and old.

It is killed, doubled, and the broker is killed under it: each record is transformed once.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.support.clients.java import program_command
from tests.support.processes.program import Program
from tests.support.processes.server import Server
from tests.support.waiting import PATIENCE_S, all_the_while, until
from tests.transactions.versions import NEWEST_AND_OLDEST
from tests.transactions.views import PARTITIONS, committed_offsets, make_topics, values

JAVA = Path(__file__).resolve().parents[1] / "compat" / "java"
FENCED = 3


class ConsumeTransformProduce(Program):
    """The program of that name: from one topic to another."""

    def __init__(self, server: Server, version: str, source: str, target: str) -> None:
        form = "name" if version == "2.8.2" else "metadata"
        arguments = (server.address, f"id-of-{target}", f"group-of-{target}", source, target, form)
        super().__init__(program_command(JAVA / "ConsumeTransformProduce.java", *arguments, client_version=version))
        self.line("ready")

    def commits(self, count: int = 2) -> None:
        """Wait until it has committed so many transactions more."""
        enough = self._committed() + count
        until(lambda: self._committed() >= enough, PATIENCE_S)

    def _committed(self) -> int:
        return sum(line.startswith("committed") for line in self.lines)


@contextmanager
def writing(address: str, topic: str) -> Iterator[list[str]]:
    """Values come all the while; gives those that have been written. Every fifteenth ends with a question mark."""
    producer = Producer({"bootstrap.servers": address, "enable.idempotence": True, "linger.ms": 0})
    written: list[str] = []

    def write() -> None:
        number = len(written)
        written.append(f"line {number}" + ("?" if number % 15 == 7 else ""))
        producer.produce(topic, value=written[-1], partition=number % PARTITIONS)
        producer.poll(0)

    with all_the_while(write):
        yield written
    assert producer.flush(60) == 0


@pytest.mark.parametrize("version", NEWEST_AND_OLDEST)
def test_each_consumed_record_is_produced_once_despite_kills(mortal_server: Server, version: str) -> None:
    server, source, target = mortal_server, f"consumed-{version}", f"transformed-{version}"
    make_topics(server.address, source, target)
    with writing(server.address, source) as written:
        with ConsumeTransformProduce(server, version, source, target) as first:
            first.commits()
            first.line("aborted")
            first.kill()
        with ConsumeTransformProduce(server, version, source, target) as second:
            second.commits()
            server.kill()
            server.start()
            second.commits()
            with ConsumeTransformProduce(server, version, source, target) as third:
                second.line("fenced")
                assert second.end() == FENCED
                third.commits()
                third.kill()
    with ConsumeTransformProduce(server, version, source, target):
        until(lambda: len(values(server.address, target)) >= len(written), PATIENCE_S)
    assert values(server.address, target) == sorted(value.upper() for value in written)
    assert committed_offsets(server.address, f"group-of-{target}", source) == len(written)
