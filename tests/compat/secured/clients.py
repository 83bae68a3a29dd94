"""Stock clients that take the words of story.py, the rights that the story needs, and one server that they come to."""

import re
import subprocess
import sys
from collections.abc import Callable

from barnabas.broker.security.session.operations import Access, Operation, Resource
from tests.compat.secured.story import Settings
from tests.support.clients.go import go_secured
from tests.support.clients.java import program_command
from tests.support.clients.npm import JS, node_of
from tests.support.kafka.jars import KAFKA_VERSION
from tests.support.security.secured import SASL_SSL, SecuredServer, password_of
from tests.support.source_tree import ROOT

ALICE = "alice"
TIMEOUT_S = 40
_JAVA = ROOT / "tests" / "compat" / "java" / "Secured.java"
NEEDED = (
    *(Access(operation, Resource.TOPIC) for operation in (Operation.READ, Operation.WRITE, Operation.CREATE)),
    Access(Operation.READ, Resource.GROUP),
    Access(Operation.WRITE, Resource.TRANSACTIONAL_ID),
)


def _python(name: str) -> list[str]:
    return [sys.executable, "-m", f"tests.compat.secured.programs.{name}_story"]


JAVA, OLD_JAVA = f"java-{KAFKA_VERSION}", "java-3.9.1"
CLIENTS: dict[str, Callable[[], list[str]]] = {
    "confluent-kafka": lambda: _python("confluent"),
    "kafka-python": lambda: _python("kafka_python"),
    "aiokafka": lambda: _python("aiokafka"),
    JAVA: lambda: program_command(_JAVA),
    OLD_JAVA: lambda: program_command(_JAVA, client_version="3.9.1"),
    "franz-go": lambda: [str(go_secured()), "franz-go"],
    "sarama": lambda: [str(go_secured()), "sarama"],
    "kafkajs": lambda: [node_of(JS), str(JS / "secured.mjs")],
}


class Secured:
    """A server, and alice, who is known to it by all its mechanisms."""

    def __init__(self, server: SecuredServer) -> None:
        self._server = server

    def settings(self, protocol: str, mechanism: str, name: str, password: str = password_of(ALICE)) -> Settings:
        address = f"127.0.0.1:{self._server.ports[protocol]}"
        trusted = str(self._server.security.trusted) if protocol == SASL_SSL else ""
        return Settings(address, protocol, mechanism, ALICE, password, trusted, name)

    def refused_count(self) -> int:
        """How many logins were refused so far, by the log of either server."""
        return len(re.findall("security authentication failed |Failed authentication with ", self._server.log))


def run(client: str, settings: Settings) -> subprocess.CompletedProcess[str]:
    command = [*CLIENTS[client](), *settings]
    return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, cwd=ROOT)
