"""A snapshot as a seed: a broker that starts with it holds the same."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from barnabas import Barnabas
from barnabas.broker.server.seeding.applying import apply
from barnabas.broker.server.seeding.describing import SnapshotSummary, describe
from barnabas.broker.server.seeding.errors import SeedError
from barnabas.broker.server.seeding.reading import read_values
from barnabas.client.admin.acls import AclBindingFilter, describe_acls
from barnabas.client.admin.configs import ConfigSource, ResourceType, describe_configs
from barnabas.client.client import Client
from barnabas.client.offsets import committed_offsets
from barnabas.client.produce.producer import Producer
from tests.broker.server.seeding.test_applying import AUTHORIZED

RECORDS: list[dict[str, Any]] = [
    {"key": "k", "value": "text", "headers": [{"name": "h", "value": None}, {"name": "h", "value_base64": "/w=="}]},
    {"key_json": {"id": 1}, "value_json": [1, "two", None, 0.5], "timestamp": 1_000},
    {"value_base64": "AAH/"},
    {"value": None, "key": "gone"},
    {"value": "", "partition": 1},
    {"value": '{"not": "as json.dumps writes it"}'},
    {"value": "[" * 50_000},
    {"value": "\u2028 \x7f \ud7ff 🐘"},
]


def txn(name: str, outcome: str, *values: str) -> dict[str, Any]:
    records = [{"topic": "orders", "value": value, "partition": 0} for value in values]
    return {"transactional_id": name, "outcome": outcome, "records": records}


SEED: dict[str, Any] = {
    "topics": [
        {"name": "orders", "partitions": 2, "config": {"retention.ms": -1}, "records": RECORDS},
        {"name": "empty", "partitions": 1},
    ],
    "transactions": [txn("a", "committed", "paid"), txn("a", "aborted", "gone"), txn("b", "open", "pending", "later")],
    "groups": [
        {
            "group_id": "readers",
            "offsets": [
                {"topic": "orders", "partition": 0, "offset": "latest"},
                {"topic": "orders", "partition": 1, "offset": 0},
            ],
        }
    ],
    "users": [{"name": "alice", "password": "wonderland"}],
    "acls": [
        {"principal": "User:alice", "operations": ["Describe", "Read"], "topic": "or", "pattern": "prefixed"},
        {"principal": "User:bob", "operations": ["All"], "cluster": True, "permission": "deny", "host": "10.0.0.1"},
    ],
}


def snapshot_of(broker: Barnabas, records_max: int = 1_000) -> tuple[SnapshotSummary, dict[str, Any]]:
    out = io.StringIO()
    with Client(broker.bootstrap_servers) as client:
        described = describe(client, out, records_max)
    return described, json.loads(out.getvalue())


def content(broker: Barnabas) -> dict[str, Any]:
    """All that a snapshot has to give again."""
    with Client(broker.bootstrap_servers) as client:
        configs = describe_configs(client, ResourceType.TOPIC, "orders")
        return {
            "topics": broker.topics(),
            "records": [each._replace(offset=0) for each in broker.records("orders")],
            "open": [each.transaction.transactional_id for each in broker.open_transactions()],
            "configs": {each.name: each.value for each in configs if each.source is ConfigSource.TOPIC},
            "acls": sorted(describe_acls(client, AclBindingFilter())),
        }


def test_a_broker_that_starts_with_a_snapshot_holds_the_same() -> None:
    with Barnabas(config=AUTHORIZED, seed=SEED) as first:
        described, document = snapshot_of(first)
        before = content(first)
        with Barnabas(config=AUTHORIZED, seed=document) as second:
            assert content(second) == before
            again, same = snapshot_of(second)
            with Client(second.bootstrap_servers) as client:
                every = len(first.records("orders", 0)) + len(SEED["transactions"][-1]["records"])
                assert committed_offsets(client, "readers") == {("orders", 0): every, ("orders", 1): 0}
    assert described == SnapshotSummary(2, 11, 1, 1, 2, users_left_out=["alice"], groups_left_out=[])
    assert (again, same) == (described._replace(users_left_out=[]), document)


def test_a_committed_offset_is_counted_in_the_records_of_the_seed() -> None:
    transactions = [txn("a", "committed", "0"), txn("a", "aborted", "x", "y"), txn("a", "committed", "1", "2")]
    offsets = [{"topic": "orders", "partition": 0, "offset": 6}]  # 0 C x y A 1 | 2 C
    seed = {
        "topics": [{"name": "orders", "partitions": 1}],
        "transactions": transactions,
        "groups": [{"group_id": "readers", "offsets": offsets}],
    }
    with Barnabas(seed=seed) as broker:
        _, document = snapshot_of(broker)
    assert [record["value"] for record in document["topics"][0]["records"]] == ["0", "1", "2"]
    assert document["groups"][0]["offsets"] == [{"topic": "orders", "partition": 0, "offset": 2}]


def test_a_partition_with_too_many_records_is_refused() -> None:
    with Barnabas(topics=["orders"]) as broker:
        with Client(broker.bootstrap_servers) as client:
            records = [{"value": "x"}] * 11
            apply(client, read_values({"topics": [{"name": "many", "partitions": 1, "records": records}]}))
        assert snapshot_of(broker, 11)[0].records == 11
        with pytest.raises(SeedError, match=r"^many-0 has more than 10 records: raise --max-records$"):
            snapshot_of(broker, 10)


def test_many_batches_are_read_to_their_end() -> None:
    records = [{"value": f"{number}:" + "x" * 1_000} for number in range(9_000)]
    with Barnabas(seed={"topics": [{"name": "orders", "partitions": 1, "records": records}]}) as broker:
        assert snapshot_of(broker, 9_000)[0].records == 9_000


def test_a_header_name_that_is_not_utf_8_comes_again(tmp_path: Path) -> None:
    name = b"\xff".decode("utf-8", "surrogateescape")
    path = tmp_path / "shop.json"
    with Barnabas(topics=["orders"]) as first, Client(first.bootstrap_servers) as client:
        with Producer(client) as producer:
            producer.send("orders", b"x", headers=[(name, b"1")])
        with path.open("w", encoding="utf-8") as out:
            describe(client, out, 10)
        with Barnabas(seed=path) as second:
            assert second.records("orders")[0].headers == first.records("orders")[0].headers == [(name, b"1")]
