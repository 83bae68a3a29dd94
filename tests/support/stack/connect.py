"""A worker of Kafka Connect, distributed: what it knows is in three compacted topics. Its REST interface as methods."""

import json
import re
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

from tests.support.clients.java import class_command
from tests.support.kafka.jars import connect_libs
from tests.support.processes.program import Program
from tests.support.processes.server import Server
from tests.support.stack.compacted import COMPACTED_TOPIC
from tests.support.waiting import PATIENCE_S, all_the_while

KINDS = ("config", "offset", "status")
_CONFLICT = 409  # a rebalance is going on: ask again
_SETTINGS = (
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
        "consumer.session.timeout.ms": 2000,  # and its sinks' partitions
        "consumer.heartbeat.interval.ms": 500,
        "scheduled.rebalance.max.delay.ms": 0,
        "offset.flush.interval.ms": 500,
    }
    | {f"{kind}.storage.topic": f"connect-{kind}" for kind in KINDS}
    | {f"{kind}.storage.replication.factor": 1 for kind in KINDS}
    | {
        f"{kind}.storage.{key}": value
        for kind in KINDS
        for key, value in COMPACTED_TOPIC.items()
        if key != "cleanup.policy"  # which Connect sets itself
    }
)


@contextmanager
def writing(path: Path) -> Iterator[list[str]]:
    """Lines are added to the file all the while; gives them."""
    lines: list[str] = []

    def write() -> None:
        lines.append(f"line {len(lines)}")
        print(lines[-1], file=file, flush=True)

    with path.open("a") as file, all_the_while(write, pause_s=0.01):
        yield lines


class Worker(Program):
    """A worker that has joined its group. Its settings, with `more` of them, are in the file `properties`."""

    def __init__(self, server: Server, properties: Path, more: Mapping[str, object] | None = None) -> None:
        settings = _SETTINGS | {"bootstrap.servers": server.address} | dict(more or {})
        properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        main_class = "org.apache.kafka.connect.cli.ConnectDistributed"
        super().__init__(class_command(connect_libs(), main_class, str(properties)))
        found = self._line_with("REST server listening at")
        [self._url] = re.findall(r"listening at (http://[^/]+)/", found)
        for step in ("Kafka Connect started", "Finished starting connectors and tasks"):
            self._line_with(step)

    def _line_with(self, words: str) -> str:
        return self.line(lambda line: words in line, PATIENCE_S)

    def set_connector(self, name: str, kind: str, **settings: str) -> None:
        """Make a connector for files, or give it other settings; kind: Source or Sink."""
        connector = {"connector.class": f"org.apache.kafka.connect.file.FileStream{kind}Connector"}
        connector |= {key.replace("_", "."): value for key, value in settings.items()}
        self._ask("PUT", f"/{name}/config", connector)

    def stop_connector(self, name: str) -> None:
        """End its tasks; it stays, and stays stopped."""
        self._ask("PUT", f"/{name}/stop")

    def forget_offsets(self, name: str) -> None:
        """Delete what a stopped connector's source has been read to."""
        self._ask("DELETE", f"/{name}/offsets")

    def delete_connector(self, name: str) -> None:
        self._ask("DELETE", f"/{name}")

    def states(self) -> dict[str, list[str]]:
        """By connector, its state and those of its tasks."""
        found = self._ask("GET", "?expand=status")
        return {
            name: [status["status"]["connector"]["state"], *(task["state"] for task in status["status"]["tasks"])]
            for name, status in found.items()
        }

    def failure(self, name: str) -> str:
        """Why tasks of a connector have failed; empty as long as none has."""
        tasks = self._ask("GET", "?expand=status")[name]["status"]["tasks"]
        return "".join(task.get("trace", "") for task in tasks)

    def config(self, name: str) -> dict[str, str]:
        """The settings of a connector."""
        config: dict[str, str] = self._ask("GET", f"/{name}/config")
        return config

    def position(self, name: str) -> int:
        """How many bytes of its file a source has read and committed; -1 where nothing is known."""
        offsets = self._ask("GET", f"/{name}/offsets")["offsets"]
        return int(offsets[0]["offset"]["position"]) if offsets else -1

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._url}/connectors{path}", data, method=method)
        request.add_header("Content-Type", "application/json")
        while True:
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                    return json.loads(answer.read() or b"null")
            except HTTPError as refusal:
                with refusal:
                    if refusal.code != _CONFLICT:
                        raise AssertionError(refusal.read()) from None
