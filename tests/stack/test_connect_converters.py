"""Kafka Connect with Confluent's converters: lines of a file go through a topic, by their schemas, into another file.

The source's transformations make records of the lines. They change in the middle, and with them the schema; a change
that is not compatible stops the source. Connect and Python see each schema by its id after kills of the broker.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from tests.compat.clients.confluent import Confluent
from tests.support.kafka.jars import CONFLUENT_CONVERTERS, confluent_libs
from tests.support.registry.servers import RegistryBroker
from tests.support.stack.compacted import BUSY_CLEANER
from tests.support.stack.connect import Worker, writing
from tests.support.waiting import PATIENCE_S, until
from tests.transactions.views import make_topics

_TOPIC = "converted-lines"
_TRANSFORM = "org.apache.kafka.connect.transforms.{}$Value"
_NOTE = {"transforms_note_type": _TRANSFORM.format("InsertField"), "transforms": "hoist,note"}
_VERSIONS = (
    {"transforms": "hoist"},
    _NOTE | {"transforms_note_static_field": "note", "transforms_note_static_value": "new"},
    _NOTE | {"transforms_note_timestamp_field": "note"},  # which was text
)
_RECORD = re.compile(r"Struct\{line=(.*?)(?:,note=(.*))?\}")


class _Connectors:
    """A source and sinks that share a converter, over the topic of a broker with a registry."""

    def __init__(self, broker: RegistryBroker, converter: str, directory: Path) -> None:
        self._broker, self._directory = broker, directory
        self._converter = {
            "value_converter": converter,
            "value_converter_schema_registry_url": broker.registry_url,
        }
        self.source = directory / "source.txt"
        self.source.touch()
        make_topics(broker.address, _TOPIC)

    def worker(self) -> Worker:
        plugins = {"plugin.path": confluent_libs().parent}
        return Worker(self._broker, self._directory / "worker.properties", plugins)

    def set_source(self, worker: Worker, version: int) -> None:
        """Have it write records of a version of the schema, from 0 on."""
        settings = {"file": str(self.source), "topic": _TOPIC, "exactly_once_support": "required"}
        settings |= {"transforms_hoist_type": _TRANSFORM.format("HoistField"), "transforms_hoist_field": "line"}
        worker.set_connector("source", "Source", **settings, **self._converter, **_VERSIONS[version])

    def set_sink(self, worker: Worker, name: str) -> None:
        """Have it write what it reads to a file of its name."""
        worker.set_connector(name, "Sink", file=str(self._directory / name), topics=_TOPIC, **self._converter)

    def sunk(self, name: str) -> list[tuple[str, str | None]]:
        """Return the line and the note of each record that a sink has written."""
        path = self._directory / name
        whole = [_RECORD.fullmatch(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [(record[1], record[2]) for record in whole if record is not None]

    def lines(self, name: str) -> set[str]:
        """Return the lines that a sink has written."""
        return {line for line, _ in self.sunk(name)}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[RegistryBroker]:
    settings = BUSY_CLEANER | {"group.min.session.timeout.ms": 1000}
    flags = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    with RegistryBroker(tmp_path / "data", flags) as broker:
        yield broker


def _ids(broker: RegistryBroker) -> list[int]:
    """Return the id of the schema of each record."""
    records = Confluent().read(broker.address, _TOPIC, "read_committed")
    return [int.from_bytes((record.value or b"")[1:5]) for record in records]


@pytest.mark.parametrize("converter", CONFLUENT_CONVERTERS)
def test_a_schema_evolves_between_a_source_and_a_sink(broker: RegistryBroker, converter: str, tmp_path: Path) -> None:
    connectors = _Connectors(broker, converter, tmp_path)
    with writing(connectors.source) as lines, connectors.worker() as worker:
        connectors.set_source(worker, 0)
        connectors.set_sink(worker, "sink")
        until(lambda: len(connectors.sunk("sink")) > 100, PATIENCE_S)
        broker.kill()
        broker.start()
        connectors.set_source(worker, 1)
        until(lambda: connectors.sunk("sink")[-1][1] == "new", PATIENCE_S)
        connectors.set_source(worker, 2)
        until(lambda: "409" in worker.failure("source"), PATIENCE_S)
    broker.kill()
    broker.start()
    with connectors.worker() as worker:
        connectors.set_source(worker, 1)
        connectors.set_sink(worker, "another-sink")
        until(lambda: connectors.lines("sink") == connectors.lines("another-sink") == set(lines), PATIENCE_S)
    ids = _ids(broker)
    assert len(ids) == len(lines)
    with SchemaRegistryClient({"url": broker.registry_url}) as client:
        registered = [client.get_version(f"{_TOPIC}-value", version) for version in (1, 2)]
        assert client.get_versions(f"{_TOPIC}-value") == [1, 2]
    assert set(ids) == {each.schema_id for each in registered}
