"""How the process of each transactional client is started."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping


def _python(module: str) -> Callable[[], list[str]]:
    return lambda: [sys.executable, "-m", f"tests.transactions.clients.{module}"]


PROGRAMS: Mapping[str, Callable[[], list[str]]] = {
    "kafka-python": _python("kafka_python"),
    "aiokafka": _python("aiokafka_client"),
    "confluent-kafka": _python("confluent"),
}
