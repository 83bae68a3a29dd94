"""The clients that are librdkafka once more, behind Go and Rust: built from their sources, so with --long only."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.compat.model import COMPRESSIONS
from tests.support.clients.go import confluent_kafka_go
from tests.support.clients.rust import rdkafka
from tests.support.processes.server import Server
from tests.support.waiting import PATIENCE_S

COUNT = 300
BUILDS: dict[str, Callable[[], Path]] = {"confluent-kafka-go": confluent_kafka_go, "rdkafka": rdkafka}


@pytest.mark.long
@pytest.mark.parametrize("name", BUILDS)
def test_what_it_writes_its_group_reads_and_goes_on_after_a_restart(server: Server, name: str) -> None:
    program, group, topic = str(BUILDS[name]()), f"{name}-group", f"{name}-topic"

    def run(*words: object) -> list[str]:
        done = subprocess.run(
            [program, *map(str, words)], capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    for compression in COMPRESSIONS:
        run("write", server.address, topic, compression, COUNT)
        assert sorted(run("group", server.address, topic, group, COUNT)) == sorted(map(str, range(COUNT)))
    server.stop()
    server.start()
    run("write", server.address, topic, "lz4", 10)
    assert sorted(run("group", server.address, topic, group, 10)) == sorted(map(str, range(10)))
