"""Stock clients of schema registries, each in the registry of a broker that is killed between writing and reading.

A program writes an order with each of two versions of a schema, is refused a third that can read neither, and prints
`refused STATUS`. Another process, which knows no schema, prints `order ID JSON` for each of the two that it reads.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.compat.serializers.schemas import ORDERS, SCHEMAS
from tests.support.clients.go import go_serializers
from tests.support.clients.java import program_command
from tests.support.clients.npm import JS, node_of
from tests.support.kafka.jars import confluent_libs, flink_serializers_libs
from tests.support.registry.servers import RegistryBroker
from tests.support.waiting import PATIENCE_S

_COMPAT = Path(__file__).resolve().parents[1]
_CONFLICT = "409"


@dataclass(frozen=True)
class Serializer:
    """A client in one language of schemas. command: the words before STEP; is_told: whether it is told the language."""

    name: str
    language: str
    command: Callable[[], Sequence[str]]
    is_told: bool = False


def _python(program: str) -> Callable[[], Sequence[str]]:
    return lambda: [sys.executable, str(_COMPAT / "programs" / f"{program}.py")]


def _go(client: str) -> Callable[[], Sequence[str]]:
    return lambda: [str(go_serializers()), client]


def _javascript(client: str) -> Callable[[], Sequence[str]]:
    home = JS / "serializers"
    return lambda: [node_of(home), str(home / "serializers.mjs"), client]


def _confluent_java() -> list[str]:
    return program_command(_COMPAT / "java" / "ConfluentSerializers.java", libs=confluent_libs())


def _flink() -> list[str]:
    return program_command(_COMPAT / "java" / "FlinkSerializers.java", libs=flink_serializers_libs())


CLIENTS = (
    *(Serializer("confluent-kafka", language, _python("confluent_serializers"), True) for language in SCHEMAS),
    *(
        Serializer("python-schema-registry-client", language, _python("python_registry_client"), True)
        for language in ("AVRO", "JSON")
    ),
    Serializer("confluent-kafka-go", "AVRO", _go("confluent")),
    Serializer("franz-go", "AVRO", _go("franz-go")),
    Serializer("hamba/avro", "AVRO", _go("hamba")),
    Serializer("@confluentinc/schemaregistry", "AVRO", _javascript("confluent")),
    Serializer("@kafkajs/confluent-schema-registry", "AVRO", _javascript("kafkajs")),
    Serializer("kafka-avro-serializer", "AVRO", _confluent_java, True),
    Serializer("kafka-protobuf-serializer", "PROTOBUF", _confluent_java, True),
    Serializer("flink-sql-avro-confluent-registry", "AVRO", _flink),
)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryBroker]:
    at_once = ("--set", "group.initial.rebalance.delay.ms=0")
    with RegistryBroker(tmp_path_factory.mktemp("registry") / "data", at_once) as broker:
        yield broker


def _run(client: Serializer, step: str, broker: RegistryBroker, topic: str) -> list[str]:
    """Return the lines that a step prints."""
    language = [client.language] if client.is_told else []
    words = [*client.command(), step, broker.address, broker.registry_url, topic, *language]
    done = subprocess.run(
        [*words, *SCHEMAS[client.language]], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, f"{words}:\n{done.stdout}\n{done.stderr[-4000:]}"
    return done.stdout.splitlines()


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: f"{client.name}-{client.language}")
def test_what_a_client_wrote_is_read_by_another_process_after_a_kill(
    client: Serializer, broker: RegistryBroker
) -> None:
    topic = f"orders-{CLIENTS.index(client)}"
    assert _run(client, "write", broker, topic) == [f"refused {_CONFLICT}"]
    broker.kill()
    broker.start()
    read = [line.split(" ", 2) for line in _run(client, "read", broker, topic)]
    assert [json.loads(order) for _, _, order in read] == list(ORDERS)
    assert len({schema_id for _, schema_id, _ in read}) == len(ORDERS)
