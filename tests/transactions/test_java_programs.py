"""The classic transactional producer on the Java client, new and old.

It is killed, doubled, and the broker is killed under it; what a reader at read_committed sees is whole or absent.
"""

import threading
from pathlib import Path

import pytest

from tests.support.clients.java import program_command
from tests.support.processes.program import Program
from tests.support.processes.server import Server
from tests.transactions.versions import NEWEST_AND_OLDEST
from tests.transactions.views import make_topics, values

JAVA = Path(__file__).resolve().parents[1] / "compat" / "java"
FENCED = 3
RECORDS = 3  # in each transaction of the producer
KILLS_AFTER_S = (0.0, 0.002, 0.005, 0.01)  # a commit was asked for

every_version = pytest.mark.parametrize("version", NEWEST_AND_OLDEST)


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
