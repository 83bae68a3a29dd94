"""How the process of each transactional client is started."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.support.clients.go import go_transactions
from tests.support.clients.npm import JS, node_of


def _python(module: str) -> Callable[[], list[str]]:
    return lambda: [sys.executable, "-m", f"tests.transactions.clients.{module}"]


def _go(name: str) -> Callable[[], list[str]]:
    return lambda: [str(go_transactions()), name]


def _node(program: Path) -> Callable[[], list[str]]:
    return lambda: [node_of(program.parent), str(program)]


PROGRAMS: Mapping[str, Callable[[], list[str]]] = {
    "kafka-python": _python("kafka_python"),
    "aiokafka": _python("aiokafka_client"),
    "confluent-kafka": _python("confluent"),
    "franz-go": _go("franz-go"),
    "sarama": _go("sarama"),
    "kafka-go": _go("kafka-go"),
    "kafkajs": _node(JS / "kafkajs_transactions.mjs"),
    "platformatic": _node(JS / "platformatic" / "transactions.mjs"),
}
