"""Programs that share the work of a group: one is killed, the broker is killed, and what comes after finds its way."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from barnabas.client.client import Client as OwnClient
from barnabas.client.offsets import committed_offsets
from tests.compat.model import PARTITIONS, Client, Message
from tests.support.depth import long
from tests.support.processes.server import ROOT, Server
from tests.support.waiting import until
from tests.transactions.views import make_topics

PROGRAMS = Path(__file__).resolve().parent / "programs"
QUIXSTREAMS_PYTHON = ROOT / ".venv-quixstreams" / "bin" / "python"
Clients = Mapping[str, Client]
Start = Callable[[], subprocess.Popen[bytes]]
COUNT = 300


@pytest.fixture(params=["aiokafka", long("quixstreams")])
def start(request: pytest.FixtureRequest, server: Server, tmp_path: Path) -> Iterator[Start]:
    """start() runs one more copy of the program, which copies a topic of its name into another."""
    name, running = request.param, list[subprocess.Popen[bytes]]()

    def start() -> subprocess.Popen[bytes]:
        topics = [server.address, f"{name}-in", f"{name}-out", f"{name}-copiers"]
        state = ["at-least-once", str(tmp_path / f"state-{len(running)}")] if name == "quixstreams" else []
        python = str(QUIXSTREAMS_PYTHON if name == "quixstreams" else sys.executable)
        running.append(subprocess.Popen([python, str(PROGRAMS / f"{name}_copier.py"), *topics, *state]))
        return running[-1]

    start.__name__ = name
    yield start
    for process in running:
        process.kill()
        process.wait()


def test_copies_of_a_program_share_its_work_and_outlive_kills(server: Server, clients: Clients, start: Start) -> None:
    source, target, group = (f"{start.__name__}-{what}" for what in ("in", "out", "copiers"))
    make_topics(server.address, source, target)
    writer = clients["confluent-kafka"]

    def write(first: int) -> None:
        numbers = range(first, first + COUNT)
        writer.write(server.address, source, [Message(n % PARTITIONS, b"k%d" % n, b"%d" % n) for n in numbers], "lz4")

    def copied() -> set[int]:
        return {int((record.value or b"").split()[0]) for record in writer.read(server.address, target)}

    write(0)
    programs = [start(), start()]
    until(lambda: _members_at_work(server, group) == 2, timeout_s=60)
    until(lambda: copied() == set(range(COUNT)), timeout_s=60)

    def has_copied(count: int) -> bool:
        """So many and more, or soon. Where a broker that starts does not tell a log's end yet, Quix Streams ends."""
        if start.__name__ == "quixstreams":
            programs[:] = [program if program.poll() is None else start() for program in programs]
        return len(copied()) >= count

    server.kill()
    server.start()
    write(COUNT)
    until(lambda: has_copied(COUNT + 1), timeout_s=60)  # so they are at it again
    programs.pop(0).kill()
    write(2 * COUNT)
    until(lambda: has_copied(3 * COUNT), timeout_s=60)
    assert copied() == set(range(3 * COUNT))
    (program,) = programs
    program.terminate()
    assert program.wait(30) == 0
    with OwnClient(server.address) as client:
        assert committed_offsets(client, group) == {(source, number): COUNT for number in range(PARTITIONS)}


def _members_at_work(server: Server, group: str) -> int:
    """How many members of the group have partitions."""
    admin = AdminClient({"bootstrap.servers": server.address})
    try:
        described = admin.describe_consumer_groups([group])[group].result(timeout=30)
    except KafkaException:  # its coordinator is not there yet
        return 0
    return sum(bool(member.assignment.topic_partitions) for member in described.members)
