"""Apache Kafka itself, one KRaft node, from its Maven jars: the oracle, with the same handles as Barnabas.

A data directory without meta.properties is formatted first; one with it (such as Barnabas's) is opened as it is.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from barnabas.protocol.primitives import uuid_text
from tests.support.clients.class_archives import archive_options, class_path
from tests.support.clients.java import FAST_START, logging_options, run_tool
from tests.support.kafka.jars import KAFKA_VERSION, kafka_libs
from tests.support.ports import unused_port
from tests.support.processes.server import Server
from tests.support.waiting import PATIENCE_S

# One node that needs no second one, and does not wait for members that a test does not start.
ONE_NODE = {
    "process.roles": "broker,controller",
    "node.id": 1,
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "offsets.topic.replication.factor": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
    "group.initial.rebalance.delay.ms": 0,
}
UNCLEAN_ELECTION = "using an unclean election"
_COMPLAINTS = (
    UNCLEAN_ELECTION,  # after a kill Kafka logs it about its own directories
    "marked stray",
    "caused truncation of conflicting entries",
    "Skipping unsupported config",
    "does not match",
    "Found invalid messages",
    "CorruptRecordException",
    "CorruptIndexException",
    "Encountered fatal fault",
    "due to uncaught exception",
)


class KafkaProcess(Server):
    """A Kafka broker of `version` over `data_dir`, formatted with `format_arguments` when it is new.

    The JVM's options are those that start fast, unless others are given: then the broker also runs fast.
    """

    start_timeout_s = PATIENCE_S

    def __init__(
        self,
        data_dir: Path,
        settings: Mapping[str, object] | None = None,
        *,
        version: str = KAFKA_VERSION,
        format_arguments: tuple[str, ...] = (),
        jvm_options: tuple[str, ...] = ("-Xmx1g", *FAST_START),
        plugins: Path | None = None,
    ) -> None:
        """`plugins`: a directory of classes that its settings name."""
        super().__init__(data_dir, settings)
        self._jvm_options = jvm_options
        self._version = version
        self._format_arguments = format_arguments
        self.controller_port = 0
        self._plugins = plugins

    def command(self) -> list[str]:
        if self.port == 0:
            self.port, self.controller_port = unused_port(), unused_port()
        properties = self.write_properties()
        if not (self.data_dir / "meta.properties").exists():
            self._format(properties)
        libs, more = kafka_libs(self._version), [self._plugins] if self._plugins else []
        options = [*self._jvm_options, *archive_options(libs), *logging_options("INFO", "SYSTEM_OUT")]
        return ["java", *options, "-cp", class_path(libs, *more), "kafka.Kafka", str(properties)]

    def is_ready_line(self, line: str) -> bool:
        return "Kafka Server started" in line

    def port_of(self, ready_line: str) -> int:
        return self.port

    @property
    def log(self) -> str:
        return self._stdout.text() if self._stdout else ""

    def complaints(self) -> list[str]:
        """By what it has logged, what it does not like in its directory."""
        return [phrase for phrase in _COMPLAINTS if phrase in self.log]

    def write_properties(self) -> Path:
        """The file that it is started with."""
        ports = {
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{self.controller_port}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self.controller_port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "log.dirs": self.data_dir,
        }
        path = self.data_dir.with_name(f"{self.data_dir.name}.properties")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{key}={value}\n" for key, value in (ONE_NODE | ports | self.settings).items()))
        return path

    def _format(self, properties: Path) -> None:
        cluster_id = uuid_text(b"k" + os.urandom(15))  # no letter that the tool takes for an option's
        arguments = ("-t", cluster_id, "-c", str(properties), "--standalone", *self._format_arguments)
        run_tool("kafka.tools.StorageTool", "format", *arguments, libs=kafka_libs(self._version))
