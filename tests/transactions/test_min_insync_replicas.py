"""Settings written for three nodes, on the one there is: transactions and offsets are kept over a kill all the same."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.processes.server import Server
from tests.transactions.conftest import SETTINGS, NewServer
from tests.transactions.model import Program
from tests.transactions.views import committed_offsets, make_topics, values, wait_for_coordinators, write

THREE_NODES = {"min.insync.replicas": 2, "transaction.state.log.min.isr": 2}


@pytest.fixture
def server_for_three(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new_server: NewServer
) -> Iterator[Server]:
    """Configured as compose files do it, by the environment; Apache Kafka without its image only reads a file."""
    settings: dict[str, object] = dict(SETTINGS)
    if request.config.getoption("--against") == "kafka":
        settings |= THREE_NODES
    else:
        for name, value in THREE_NODES.items():
            monkeypatch.setenv(f"KAFKA_{name.upper().replace('.', '_')}", str(value))
    with new_server(tmp_path / "data", settings) as server:
        yield server


def test_a_commit_outlives_a_kill_where_two_replicas_in_sync_are_requested(
    server_for_three: Server, programs: Mapping[str, Program]
) -> None:
    server, program = server_for_three, programs["confluent-kafka"]
    make_topics(server.address, "in", "out")
    write(server.address, "in", 20)
    producer = program.open(server.address, "three")
    producer.begin()
    producer.copy("copiers", "in", "out", 10)
    producer.commit()
    producer.close()
    first = values(server.address, "out")
    assert len(first) == 10
    server.kill()
    server.start()
    wait_for_coordinators(server.address, ["three"])
    assert values(server.address, "out") == first
    assert committed_offsets(server.address, "copiers", "in") == 10
    producer = program.open(server.address, "three")
    producer.begin()
    producer.copy("copiers", "in", "out", 10)
    producer.commit()
    assert values(server.address, "out") == sorted(map(str, range(20)))
    producer.close()
