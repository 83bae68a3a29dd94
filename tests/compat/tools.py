"""Kafka's own command-line tools, run one after the other in one JVM (java/Tools.java) that starts when needed."""

import base64
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support.clients.java import program_command
from tests.support.kafka.jars import tools_libs
from tests.support.processes.server import Server

_SOURCE = Path(__file__).resolve().parent / "java" / "Tools.java"
_PACKAGE = "org.apache.kafka.tools."

ACLS = f"{_PACKAGE}AclCommand"
TOPICS = f"{_PACKAGE}TopicCommand"
CONFIGS = f"{_PACKAGE}ConfigCommand"
PRODUCER = f"{_PACKAGE}ConsoleProducer"
CONSUMER = f"{_PACKAGE}consumer.ConsoleConsumer"
SHARE_CONSUMER = f"{_PACKAGE}consumer.ConsoleShareConsumer"
GROUPS = f"{_PACKAGE}consumer.group.ConsumerGroupCommand"
ALL_GROUPS = f"{_PACKAGE}GroupsCommand"
SHARE_GROUPS = f"{_PACKAGE}consumer.group.ShareGroupCommand"
STREAMS_GROUPS = f"{_PACKAGE}streams.StreamsGroupCommand"
OFFSETS = f"{_PACKAGE}GetOffsetShell"
DELETE_RECORDS = f"{_PACKAGE}DeleteRecordsCommand"
LOG_DIRS = f"{_PACKAGE}LogDirsCommand"
CLUSTER = f"{_PACKAGE}ClusterTool"
API_VERSIONS = f"{_PACKAGE}BrokerApiVersionsCommand"
FEATURES = f"{_PACKAGE}FeatureCommand"
TRANSACTIONS = f"{_PACKAGE}TransactionsCommand"
LEADER_ELECTION = f"{_PACKAGE}LeaderElectionCommand"
REASSIGN = f"{_PACKAGE}reassign.ReassignPartitionsCommand"
QUORUM = f"{_PACKAGE}MetadataQuorumCommand"
CLIENT_METRICS = f"{_PACKAGE}ClientMetricsCommand"

_ABOUT_A_SERVER = re.compile(r"^.* WARN .*:(\d+)\D.*\(org\.apache\.kafka\.clients\.NetworkClient\)\n?", re.MULTILINE)


class Said(NamedTuple):
    """How a tool ended, and what it printed."""

    status: int
    out: str
    err: str


class Tools:
    """The JVM in which the tools run."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(self, main_class: str, *arguments: str, stdin: str = "") -> Said:
        """Run a tool to its end."""
        if self._process is None:
            command = program_command(_SOURCE, libs=tools_libs())
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\t".join([main_class, *map(_encode, (stdin, *arguments))]) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"the JVM ended in {main_class} {arguments}"
        status, out, err = answer.rstrip("\n").split("\t")
        return Said(int(status), *(_without_other_clients(_decode(word), arguments) for word in (out, err)))

    def ask(self, server: Server, main_class: str, *arguments: str, stdin: str = "") -> str:
        """What a tool that must succeed prints on stdout when it is pointed at `server`."""
        said = self.run(main_class, "--bootstrap-server", server.address, *arguments, stdin=stdin)
        assert said.status == 0, f"{main_class} {arguments} ended with {said.status}:\n{said.out}\n{said.err}"
        return said.out

    def fail(self, server: Server, main_class: str, *arguments: str) -> str:
        """What a tool that must fail prints, on stdout and stderr."""
        said = self.run(main_class, "--bootstrap-server", server.address, *arguments)
        assert said.status > 0, f"{main_class} {arguments} succeeded:\n{said.out}\n{said.err}"
        return said.out + said.err

    def close(self) -> None:
        """End the JVM, if it was started."""
        if self._process is not None:
            self._process.communicate(timeout=30)


def _without_other_clients(text: str, arguments: Sequence[str]) -> str:
    """Leave out what clients log that earlier tools of this JVM have left open, about servers that are gone."""

    def own(line: re.Match[str]) -> str:
        return line[0] if any(argument.endswith(f":{line[1]}") for argument in arguments) else ""

    return _ABOUT_A_SERVER.sub(own, text)


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _decode(word: str) -> str:
    return base64.b64decode(word).decode()
