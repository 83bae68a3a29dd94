"""Apicurio Registry with its journal in the broker, and Avro programs that use it, over restarts and kills of both."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.schema_registry import Schema

from tests.support.clients.java import program_command
from tests.support.kafka.jars import registry_serdes_libs
from tests.support.processes.program import Program
from tests.support.processes.server import Server
from tests.support.stack.avro import read_avro, registry_client, write_avro
from tests.support.stack.compacted import make_compacted
from tests.support.stack.registry import Registry
from tests.support.waiting import PATIENCE_S, until

_ORDERS = "orders"
_JAVA = Path(__file__).resolve().parent / "java" / "AvroOrders.java"
_FIELDS = ({"name": "amount", "type": "long"}, *({"name": name, "type": "string", "default": "?"} for name in "abcd"))


def _schema(version: int) -> str:
    """The order with so many fields; each version can read the others."""
    return json.dumps({"type": "record", "name": "Order", "fields": _FIELDS[:version]})


def _orders(version: int, numbers: range) -> dict[str, dict[str, object]]:
    names = [str(field["name"]) for field in _FIELDS[1:version]]
    return {f"order-{number}": {"amount": number, **dict.fromkeys(names, f"v{version}")} for number in numbers}


class _Expected:
    """What must be there: schemas by the id that they were first given, subjects, and the last order of each key."""

    def __init__(self, server: Server, registry: Registry) -> None:
        self._address, self._url = server.address, registry.confluent_url
        self._ids: dict[int, str] = {}
        self._orders: dict[str, dict[str, object]] = {}

    def write(self, version: int, numbers: range, deleted: range = range(0)) -> None:
        """Write orders of a version and tombstones, from Python; note the id that the version has."""
        orders = _orders(version, numbers)
        tombstones = dict.fromkeys(f"order-{number}" for number in deleted)
        write_avro(self._address, self._url, _ORDERS, _schema(version), {**orders, **tombstones})
        self.add(orders, set(tombstones))
        with registry_client(self._url) as client:
            told = client.lookup_schema(f"{_ORDERS}-value", Schema(_schema(version), "AVRO"))
        assert told.schema_id is not None
        assert self._ids.setdefault(told.schema_id, _schema(version)) == _schema(version)

    def add(self, orders: dict[str, dict[str, object]], deleted: set[str]) -> None:
        self._orders = {key: order for key, order in {**self._orders, **orders}.items() if key not in deleted}

    def check(self) -> None:
        """Ask with clients that have just started and know no schema.

        A registry begins to answer after four polls of its journal that found nothing, and on a busy machine it may
        not have read all of it then: the broker is recovering the partition still.
        """
        versions = list(range(1, len(self._ids) + 1))
        with registry_client(self._url) as client:
            until(lambda: client.get_subjects() and client.get_versions(f"{_ORDERS}-value") == versions, PATIENCE_S)
            assert client.get_subjects() == [f"{_ORDERS}-value"]
            for schema_id, schema in self._ids.items():
                assert json.loads(client.get_schema(schema_id).schema_str or "") == json.loads(schema)
                assert client.register_schema(f"{_ORDERS}-value", Schema(schema, "AVRO")) == schema_id
        assert read_avro(self._address, self._url, _ORDERS) == self._orders

    def check_java(self, program: Program) -> None:
        program.tell("read")
        program.line("read")
        orders = [line.split(" ", 2)[1:] for line in program.lines if line.startswith("order ")]
        assert {key: json.loads(order) for key, order in orders} == self._orders


@pytest.fixture
def registry(server: Server, tmp_path: Path) -> Iterator[Registry]:
    with Registry(tmp_path / "registry", server.address) as registry:
        yield registry


def _delete_a_subject(registry: Registry) -> None:
    with registry_client(registry.confluent_url) as client:
        client.register_schema("given-up-value", Schema('"string"', "AVRO"))
        client.delete_subject("given-up-value")
        client.delete_subject("given-up-value", permanent=True)


def _java(server: Server, registry: Registry, version: int) -> Program:
    libs = registry_serdes_libs()
    return Program(program_command(_JAVA, server.address, registry.url, _ORDERS, _schema(version), libs=libs))


def test_schemas_keep_their_ids_over_restarts_and_kills(server: Server, registry: Registry) -> None:
    make_compacted(server.address, _ORDERS)
    expected = _Expected(server, registry)
    expected.write(1, range(40))
    expected.write(2, range(20, 60), deleted=range(10))
    _delete_a_subject(registry)
    server.stop()
    server.start()
    expected.write(3, range(30, 70), deleted=range(20, 25))
    expected.check()
    server.kill()
    server.start()
    with _java(server, registry, 4) as program:
        program.tell("write order-3 33")
        program.tell("delete order-4")
        program.tell("delete order-45")
        program.line("delete")
        expected.add({"order-3": {"amount": 33, **dict.fromkeys("abc", "java")}}, {"order-4", "order-45"})
        expected.write(4, range(100, 110))  # registered by the Java program: the id is that of both
        expected.check()
        server.kill()
        registry.kill()
        server.start()
        registry.start()
        expected.check()
        expected.check_java(program)
    expected.write(5, range(5))
    expected.check()
