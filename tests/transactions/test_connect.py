"""Kafka Connect, distributed, with an exactly-once source: lines of a file go through a topic into another file.

The worker is killed in the middle. In the topic each line is there once; the sink, which promises less, loses none.
"""

from __future__ import annotations

import json
import re
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.support.clients.java import class_command
from tests.support.kafka.jars import connect_libs
from tests.support.processes.program import Program
from tests.support.processes.server import Server
from tests.support.waiting import until
from tests.transactions.views import make_topics, values

TOPIC = "connected-lines"
PATIENCE_S = 180
SETTINGS = (
    {
        "group.id": "connect-workers",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        "offset.storage.partitions": 1,
        "status.storage.partitions": 1,
        "exactly.once.source.support": "enabled",
        "consumer.isolation.level": "read_committed",
        "plugin.discovery": "service_load",
        "listeners": "http://127.0.0.1:0",
        "session.timeout.ms": 2000,  # so that a killed worker's work is taken over soon
        "heartbeat.interval.ms": 500,
        "scheduled.rebalance.max.delay.ms": 0,
        "offset.flush.interval.ms": 500,
    }
    | {f"{kind}.storage.topic": f"connect-{kind}" for kind in ("offset", "config", "status")}
    | dict.fromkeys((f"{kind}.storage.replication.factor" for kind in ("offset", "config", "status")), 1)
)


class Worker(Program):
    """A worker that has joined its group. Where it is told is in the file `properties`."""

    def __init__(self, server: Server, properties: Path) -> None:
        settings = SETTINGS | {"bootstrap.servers": server.address}
        properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        main_class = "org.apache.kafka.connect.cli.ConnectDistributed"
        super().__init__(class_command(connect_libs(), main_class, str(properties)))
        told = self._line_with("REST server listening at")
        [self._url] = re.findall(r"listening at (http://[^/]+)/", told)
        for step in ("Kafka Connect started", "Finished starting connectors and tasks"):
            self._line_with(step)

    def _line_with(self, words: str) -> str:
        return self.line(lambda line: words in line)

    def make_connector(self, name: str, kind: str, **settings: str) -> None:
        connector = {"connector.class": f"org.apache.kafka.connect.file.FileStream{kind}Connector"}
        connector |= {key.replace("_", "."): value for key, value in settings.items()}
        body = json.dumps({"name": name, "config": connector}).encode()
        request = urllib.request.Request(f"{self._url}/connectors", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            assert answer.status == 201


@contextmanager
def writing(path: Path) -> Iterator[list[str]]:
    """Lines are added to the file all the while; gives them."""
    lines: list[str] = []
    enough = threading.Event()

    def write() -> None:
        with path.open("a") as file:
            while not enough.wait(0.01):
                lines.append(f"line {len(lines)}")
                print(lines[-1], file=file, flush=True)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield lines
    finally:
        enough.set()
        writer.join()


def test_each_line_is_in_the_topic_once_though_the_worker_was_killed(server: Server, tmp_path: Path) -> None:
    source, sink, properties = (tmp_path / name for name in ("source.txt", "sink.txt", "worker.properties"))
    make_topics(server.address, TOPIC)

    def sunk() -> list[str]:
        return sink.read_text().splitlines() if sink.exists() else []

    with ExitStack() as running:
        with writing(source) as lines:
            with Worker(server, properties) as worker:
                worker.make_connector(
                    "source", "Source", file=str(source), topic=TOPIC, exactly_once_support="required"
                )
                worker.make_connector("sink", "Sink", file=str(sink), topics=TOPIC)
                until(lambda: len(sunk()) > 100, PATIENCE_S)
                worker.kill()
            before = len(sunk())
            running.enter_context(Worker(server, properties))
            until(lambda: len(sunk()) > before + 100, PATIENCE_S)
        until(lambda: len(values(server.address, TOPIC)) >= len(lines) and set(sunk()) >= set(lines), PATIENCE_S)
    assert values(server.address, TOPIC) == sorted(lines)
    assert set(sunk()) == set(lines)
