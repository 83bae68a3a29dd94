"""The two classic programs on the Java client, new and old: a transactional producer, and consume-transform-produce.

They are killed, doubled, and the broker is killed under them; what a reader at read_committed sees is whole or absent.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.support.clients.java import program_command
from tests.support.kafka.jars import CLIENT_VERSIONS
from tests.support.processes.program import Program
from tests.support.processes.server import Server
from tests.support.waiting import until
from tests.transactions.views import PARTITIONS, committed_offsets, make_topics, values

JAVA = Path(__file__).resolve().parents[1] / "compat" / "java"
FENCED = 3
RECORDS = 3  # in each transaction of the producer
KILLS_AFTER_S = (0.0, 0.002, 0.005, 0.01)  # a commit was asked for

every_version = pytest.mark.parametrize("version", CLIENT_VERSIONS)


class TransactionalProducer(Program):
    """The program of that name, once it is ready."""

    def __init__(self, server: Server, version: str, topic: str) -> None:
        arguments = (server.address, f"id-of-{topic}", topic)
        super().__init__(program_command(JAVA / "TransactionalProducer.java", *arguments, client_version=version))
        self.line("ready")

    def send(self, name: str) -> None:
        """Begin a transaction of this name, and have its records acknowledged."""
        self.tell(name)
        self.line(f"sent {name}")

    def commit(self, name: str) -> None:
        self.send(name)
        self.tell("commit")
        self.line(f"committed {name}")

    def fail(self, name: str) -> None:
        self.send(name)
        self.tell("fail")
        self.line(f"aborted {name}")


def records(*names: str) -> list[str]:
    """What the transactions of these names consist of."""
    return [f"{name}-{number}" for name in names for number in range(RECORDS)]


@every_version
def test_a_transaction_is_whole_or_absent_and_a_second_instance_ends_the_first(server: Server, version: str) -> None:
    topic = f"produced-{version}"
    make_topics(server.address, topic)
    with TransactionalProducer(server, version, topic) as first:
        first.commit("a")
        first.fail("b")
        first.commit("c")
        assert values(server.address, topic) == records("a", "c")
        assert values(server.address, topic, "read_uncommitted") == records("a", "b", "c")

        first.send("d")
        with TransactionalProducer(server, version, topic) as second:
            second.commit("e")
            assert values(server.address, topic) == records("a", "c", "e")
            first.tell("commit")
            first.line("fenced")
            assert first.end() == FENCED

            second.send("f")
            second.kill()
    assert values(server.address, topic) == records("a", "c", "e")
    with TransactionalProducer(server, version, topic) as third:
        third.commit("g")
    assert values(server.address, topic) == records("a", "c", "e", "g")
    assert values(server.address, topic, "read_uncommitted") == records(*"abcdefg")


@every_version
def test_a_transaction_goes_on_over_a_kill_of_the_broker(mortal_server: Server, version: str) -> None:
    topic = f"outlived-{version}"
    make_topics(mortal_server.address, topic)
    with TransactionalProducer(mortal_server, version, topic) as program:
        program.send("open")
        mortal_server.kill()
        mortal_server.start()
        program.tell("commit")
        program.line("committed open")
        assert values(mortal_server.address, topic) == records("open")

        names = [f"{after_s}" for after_s in KILLS_AFTER_S]
        for name in names:
            program.send(name)
            program.tell("commit")
            threading.Event().wait(float(name))  # no event tells how far it is
            mortal_server.kill()
            mortal_server.start()
            program.line(f"committed {name}")
            assert set(records(name)) <= set(values(mortal_server.address, topic))
    assert values(mortal_server.address, topic) == sorted(records("open", *names))


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
        until(lambda: self._committed() >= enough, 60)

    def _committed(self) -> int:
        return sum(line.startswith("committed") for line in self.lines)


@contextmanager
def writing(address: str, topic: str) -> Iterator[list[str]]:
    """Values come all the while; gives those that have been written. Every fifteenth ends with a question mark."""
    producer = Producer({"bootstrap.servers": address, "enable.idempotence": True, "linger.ms": 0})
    written: list[str] = []
    enough = threading.Event()

    def write() -> None:
        while not enough.wait(0.02):
            number = len(written)
            written.append(f"line {number}" + ("?" if number % 15 == 7 else ""))
            producer.produce(topic, value=written[-1], partition=number % PARTITIONS)
            producer.poll(0)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield written
    finally:
        enough.set()
        writer.join()
        assert producer.flush(60) == 0


@every_version
def test_what_is_consumed_is_produced_once_whoever_is_killed(mortal_server: Server, version: str) -> None:
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
        until(lambda: len(values(server.address, target)) >= len(written), 60)
    assert values(server.address, target) == sorted(value.upper() for value in written)
    assert committed_offsets(server.address, f"group-of-{target}", source) == len(written)
