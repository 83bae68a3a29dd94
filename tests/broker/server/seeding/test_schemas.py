"""The schemas of a seed: registered before its records, which may be encoded by them; what is wrong has its field."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from barnabas import Barnabas, BarnabasError
from barnabas.broker.server.seeding.batching import prepare
from barnabas.broker.server.seeding.checking import BrokerFacts
from barnabas.broker.server.seeding.describing import describe
from barnabas.broker.server.seeding.errors import SeedError
from barnabas.broker.server.seeding.reading import read_values
from barnabas.broker.server.seeding.schemas import check_schemas, use_schemas
from barnabas.client.client import Client

LINE = {"type": "record", "name": "Line", "fields": [{"name": "sku", "type": "string"}]}
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "line", "type": "Line"}],
}
SEED: dict[str, Any] = {
    "schemas": [
        {"subject": "line", "schema": LINE},
        {
            "subject": "orders-value",
            "schema": json.dumps(ORDER),
            "references": [{"name": "Line", "subject": "line"}],
            "compatibility": "FULL",
        },
        {"subject": "paid", "type": "PROTOBUF", "schema": 'syntax = "proto3"; message Paid { int32 cents = 1; }'},
    ],
    "topics": [
        {
            "name": "orders",
            "partitions": 1,
            "records": [{"value_schema": "orders-value", "value_json": {"id": 42, "line": {"sku": "a"}}}],
        }
    ],
}
FACTS = BrokerFacts({}, 1, 1_000_000, 900_000)


def answer(url: str) -> Any:
    with urlopen(url) as response:
        return json.load(response)


def change(method: str, url: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(url, data, {"Content-Type": "application/json"}, method=method)) as response:
        return json.load(response)


def test_schemas_and_records_by_them_are_there_before_the_first_client() -> None:
    with Barnabas(seed=SEED, registry=True, brokers=3) as broker:
        [record] = broker.records("orders")
        assert record.value == b"\0\0\0\0\2\x54\x02a"
        url = broker.registry_url
        assert answer(f"{url}/subjects") == ["line", "orders-value", "paid"]
        assert answer(f"{url}/config/orders-value") == {"compatibilityLevel": "FULL"}
        stored = answer(f"{url}/schemas/ids/2")
        assert (json.loads(stored["schema"]), stored["references"][0]["version"]) == (ORDER, 1)


@pytest.mark.parametrize(
    ("changes", "registry", "sentence"),
    [
        ({}, False, "seed: schemas: the broker has no schema registry: start it with --registry"),
        (
            {"schemas": [SEED["schemas"][0], {"subject": "line", "schema": {**LINE, "name": "Other"}}], "topics": []},
            True,
            "seed: schemas[1].schema: Schema being registered is incompatible with an earlier schema",
        ),
    ],
)
def test_a_seed_whose_schemas_are_not_taken_leaves_nothing(
    tmp_path: Path, changes: dict[str, Any], registry: bool, sentence: str
) -> None:
    with pytest.raises(BarnabasError) as refused:
        Barnabas(data_dir=tmp_path / "data", seed={**SEED, **changes}, registry=registry).start()
    assert sentence in str(refused.value)
    assert not (tmp_path / "data").exists()


class Unused:
    """A registry that is asked for nothing."""

    def set_compatibility(self, subject: str, level: str) -> None:
        raise AssertionError(subject)

    def register(self, subject: str, schema_type: str, text: str, references: object) -> int:
        raise AssertionError(subject)


def prepare_all(values: dict[str, Any]) -> None:
    source = read_values(values)
    check_schemas(source, Unused())
    use_schemas(source, range(1, len(source.seed.schemas) + 1))
    prepare(source, FACTS, 0)


def record(**fields: Any) -> dict[str, Any]:
    return {"topics": [{"name": "orders", "records": [fields]}]}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            record(value_schema="orders-valu", value_json=1),
            "records[0].value_schema: the seed has no schema of the subject orders-valu: did you mean orders-value?",
        ),
        (record(value_schema="line", value="{}"), "records[0].value_schema: only value_json is encoded by a schema"),
        (record(value_schema="line", value_json={"sku": 1}), "records[0].value_json: sku is no string: 1"),
        (record(key_schema="line", key_json={}, value="x"), "records[0].key_json: sku is missing, and has no default"),
        (
            record(value_schema="paid", value_json={}),
            "records[0].value_json: values are not encoded by schemas of the type PROTOBUF: give them as base64",
        ),
        (
            {"schemas": [{"subject": "p", "type": "PROTOBUF", "schema": {}}]},
            "schemas[0].schema: the schema is the text of a .proto file",
        ),
        ({"topics": [{"name": "_schemas"}]}, "topics[0].name: the registry writes _schemas: a seed has either this"),
        (
            {"schemas": [{"subject": "p", "schema": {}, "compatibility": "SOME"}]},
            "schemas[0].compatibility: expected a compatibility level, such as BACKWARD",
        ),
        (
            {"schemas": [{"subject": "p", "schema": "{", "types": "AVRO"}]},
            "schemas[0].types: there is no such field: did you mean type?",
        ),
    ],
)
def test_what_is_wrong_is_found_before_anything_is_registered(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SeedError) as refused:
        prepare_all({**SEED, **changes})
    assert sentence in str(refused.value)


def test_a_snapshot_keeps_ids_versions_levels_and_what_is_deleted() -> None:
    paths = (
        "schemas?deleted=true",
        "subjects?deletedOnly=true",
        "config/orders-value",
        "config/line?defaultToGlobal=true",
    )
    with Barnabas(seed=SEED, registry=True) as broker, Client(broker.bootstrap_servers) as client:
        url = broker.registry_url
        change("DELETE", f"{url}/subjects/paid")
        change("POST", f"{url}/subjects/line/versions", {"schema": json.dumps({**LINE, "doc": "again"})})
        out = io.StringIO()
        describe(client, out, 100)
        before = [answer(f"{url}/{path}") for path in paths]
    with Barnabas(seed=json.loads(out.getvalue()), registry=True) as broker:
        url = broker.registry_url
        assert [answer(f"{url}/{path}") for path in paths] == before
        assert [each.value for each in broker.records("orders")] == [b"\0\0\0\0\2\x54\x02a"]
        assert change("POST", f"{url}/subjects/other/versions", {"schema": '"int"'})["id"] == 5
    assert [each["id"] for each in before[0]] == [1, 4, 2, 3]
    assert before[1:3] == [["paid"], {"compatibilityLevel": "FULL"}]
