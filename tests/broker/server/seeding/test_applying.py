"""Applying a seed: everything of it is there afterwards, and nothing where a part of it is wrong."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas import Barnabas
from barnabas.broker.server.seeding.applying import Applied, apply
from barnabas.broker.server.seeding.errors import SeedError
from barnabas.broker.server.seeding.reading import read_file, read_values
from barnabas.client.admin.acls import AclBindingFilter, describe_acls
from barnabas.client.admin.configs import ResourceType, describe_configs
from barnabas.client.admin.scram import describe_credentials
from barnabas.client.client import Client
from barnabas.client.offsets import committed_offsets

AUTHORIZED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


@pytest.fixture
def broker() -> Iterator[Barnabas]:
    with Barnabas(config=AUTHORIZED) as broker:
        yield broker


@pytest.fixture
def client(broker: Barnabas) -> Iterator[Client]:
    with Client(broker.bootstrap_servers) as client:
        yield client


def values_of(broker: Barnabas, topic: str, **options: Any) -> list[bytes | None]:
    return [record.value for record in broker.records(topic, **options)]


def test_records_have_their_keys_values_headers_partitions_and_timestamps(broker: Barnabas, client: Client) -> None:
    records: list[dict[str, Any]] = [
        {"key": "k", "value": "text", "headers": {"trace": "abc", "none": None}},
        {"key_json": {"id": 1}, "value_json": [1, "two", None], "timestamp": 1_000},
        {"key_base64": "AP8=", "value_base64": base64.b64encode(b"\x00\x01").decode(), "partition": 1},
        {"value": None, "timestamp": "2026-01-01T00:00:00Z", "partition": 0},
        {"value": "", "partition": 0, "headers": [{"name": "h", "value_json": 1}, {"name": "h", "value": None}]},
    ]
    apply(client, read_values({"topics": [{"name": "orders", "partitions": 2, "records": records}]}))
    found = {record.value: record for record in broker.records("orders")}
    assert set(found) == {b"text", b'[1,"two",null]', b"\x00\x01", None, b""}
    assert (found[b"text"].key, found[b"text"].headers) == (b"k", [("trace", b"abc"), ("none", None)])
    assert (found[b'[1,"two",null]'].key, found[b'[1,"two",null]'].timestamp) == (b'{"id":1}', 1_000)
    assert (found[b"\x00\x01"].key, found[b"\x00\x01"].partition) == (b"\x00\xff", 1)
    assert (found[None].timestamp, found[None].partition) == (1_767_225_600_000, 0)
    assert found[b""].headers == [("h", b"1"), ("h", None)]


def test_records_without_a_key_are_spread_in_turn_and_keys_choose_as_in_kafkas_clients(
    broker: Barnabas, client: Client
) -> None:
    records = [{"value": str(number)} for number in range(6)] + [{"key": "a", "value": "keyed"}]
    apply(client, read_values({"topics": [{"name": "orders", "partitions": 3, "records": records}]}))
    assert [values_of(broker, "orders", partition=number) for number in range(3)] == [
        [b"0", b"3"],
        [b"1", b"4", b"keyed"],
        [b"2", b"5"],
    ]


def test_records_come_from_files_and_so_do_values(broker: Barnabas, client: Client, tmp_path: Path) -> None:
    lines = (json.dumps({"key": str(number), "value_json": number}) for number in range(3))
    (tmp_path / "orders.jsonl").write_text("\n".join(lines) + "\n\n")
    (tmp_path / "lines.txt").write_text("first\r\n\nthird")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    seed = tmp_path / "shop.yaml"
    seed.write_text(
        "topics:\n- name: orders\n  partitions: 1\n  records: [{value_file: picture.png}]\n"
        "  records_from: [{file: orders.jsonl}, {file: lines.txt, format: lines}]\n"
    )
    applied = apply(client, read_file(str(seed)))
    assert values_of(broker, "orders") == [b"\x89PNG", b"0", b"1", b"2", b"first", b"", b"third"]
    assert applied == Applied(topics=1, records=7, transactions=0, groups=0, users=0, acls=0, schemas=0)


def test_many_records_keep_their_order_over_batches(broker: Barnabas, client: Client) -> None:
    records = [{"value": f"{number}:" + "x" * 1_000} for number in range(700)]
    apply(client, read_values({"topics": [{"name": "orders", "partitions": 1, "records": records}]}))
    assert [int((value or b"").partition(b":")[0]) for value in values_of(broker, "orders")] == list(range(700))


def test_transactions_are_committed_aborted_and_left_open_with_their_offsets(broker: Barnabas, client: Client) -> None:
    topics = [{"name": "orders", "partitions": 1, "records": [{"value": "before"}]}]

    def txn(name: str, outcome: str, value: str, offset: int) -> dict[str, Any]:
        offsets = [{"group": f"billing-{name}", "topic": "orders", "partition": 0, "offset": offset}]
        records = [{"topic": "orders", "value": value}]
        return {"transactional_id": name, "outcome": outcome, "records": records, "offsets": offsets}

    transactions = [txn("a", "committed", "paid", 1), txn("a", "aborted", "gone", 2), txn("b", "open", "pending", 3)]
    apply(client, read_values({"topics": topics, "transactions": transactions}))
    assert values_of(broker, "orders") == [b"before", b"paid"]
    assert values_of(broker, "orders", isolation_level="read_uncommitted") == [b"before", b"paid", b"gone", b"pending"]
    assert [each.transaction.transactional_id for each in broker.open_transactions()] == ["b"]
    assert committed_offsets(client, "billing-a", [("orders", 0)]) == {("orders", 0): 1}


def test_groups_begin_where_the_seed_says(broker: Barnabas, client: Client) -> None:
    topics = [{"name": "orders", "partitions": 3, "records": [{"value": "x", "partition": 2}]}]
    offsets = [
        {"topic": "orders", "partition": number, "offset": offset}
        for number, offset in enumerate(("earliest", 7, "latest"))
    ]
    apply(client, read_values({"topics": topics, "groups": [{"group_id": "readers", "offsets": offsets}]}))
    places = [("orders", number) for number in range(3)]
    assert committed_offsets(client, "readers", places) == dict(zip(places, (0, 7, 1), strict=True))


def test_users_acls_and_settings_are_there(client: Client) -> None:
    seed = {
        "topics": [
            {
                "name": "orders",
                "config": {"retention.ms": -1, "preallocate": False, "cleanup.policy": ["compact", "delete"]},
            }
        ],
        "users": [
            {"name": "alice", "password": "wonderland"},
            {"name": "bob", "password": "b", "mechanisms": ["SCRAM-SHA-512"]},
        ],
        "acls": [
            {
                "principal": "User:alice",
                "operations": ["Read", "DescribeConfigs"],
                "topic": "or",
                "pattern": "prefixed",
            },
            {"principal": "User:bob", "operations": ["All"], "cluster": True, "permission": "deny", "host": "10.0.0.1"},
        ],
    }
    applied = apply(client, read_values(seed))
    assert (applied.users, applied.acls) == (2, 2)
    assert {user: set(mechanisms) for user, mechanisms in describe_credentials(client).items()} == {
        "alice": {"SCRAM-SHA-256", "SCRAM-SHA-512"},
        "bob": {"SCRAM-SHA-512"},
    }
    assert sorted(tuple(each) for each in describe_acls(client, AclBindingFilter())) == [
        (2, "or", 4, "User:alice", "*", 3, 3),
        (2, "or", 4, "User:alice", "*", 10, 3),
        (4, "kafka-cluster", 3, "User:bob", "10.0.0.1", 2, 2),
    ]
    configs = {each.name: each.value for each in describe_configs(client, ResourceType.TOPIC, "orders")}
    assert [configs[key] for key in ("retention.ms", "preallocate", "cleanup.policy")] == [
        "-1",
        "false",
        "compact,delete",
    ]


ORDERS = {"name": "orders", "partitions": 2}


def txn_of(**fields: Any) -> dict[str, Any]:
    return {"topics": [ORDERS], "transactions": [{"transactional_id": "t", "outcome": "committed", **fields}]}


def record_of(**fields: Any) -> dict[str, Any]:
    return {"topics": [{**ORDERS, "records": [fields]}]}


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"topics": [ORDERS, ORDERS]}, "topics[1]: the topic orders stands twice"),
    ({"topics": [{"name": "there"}]}, "topics[0].name: the topic there is there already"),
    (
        {"topics": [ORDERS, {"name": "x", "config": {"retention": 1}}]},
        "topics[1].config.retention: INVALID_CONFIG: topic 'x': Unknown topic config name: retention",
    ),
    (record_of(value="x", partition=2), "topics[0].records[0].partition: the topic orders has 2, from 0 to 1"),
    (
        record_of(value="x" * 2_000_000),
        "topics[0].records[0]: a record of 2000074 bytes is larger than max.message.bytes of orders, 1048588",
    ),
    (record_of(key="x"), "topics[0].records[0]: the field value is missing: null is the value of a tombstone"),
    (record_of(value="x", value_json=1), "topics[0].records[0]: only one of value and value_json may be given"),
    (record_of(value_base64="?"), "topics[0].records[0].value_base64: this is not base64"),
    (record_of(value_file="/none"), "topics[0].records[0].value_file: /none: no such file or directory"),
    (
        record_of(value="x", timestamp=1 << 63),
        "topics[0].records[0].timestamp: 9223372036854775808 is no time in ms since 1970",
    ),
    (record_of(value="x", headers=[{"name": "h"}]), "topics[0].records[0].headers[0]: the field value is missing"),
    (
        {"topics": [{**ORDERS, "records_from": [{"file": "/none"}]}]},
        "topics[0].records_from[0].file: /none: no such file or directory",
    ),
    (txn_of(), "transactions[0]: a transaction needs a record or an offset"),
    (
        txn_of(records=[{"topic": "orders", "value": "x"}], timeout_ms=900_001),
        "transactions[0].timeout_ms: 900001 is more than transaction.max.timeout.ms of the broker, 900000",
    ),
    (
        txn_of(records=[{"topic": "ordesr", "value": "x"}]),
        "transactions[0].records[0].topic: there is no topic ordesr: did you mean orders?",
    ),
    (
        txn_of(records=[{"topic": "orders", "value": "x", "partition": 2}]),
        "transactions[0].records[0].partition: the topic orders has 2, from 0 to 1",
    ),
    (
        txn_of(offsets=[{"group": "g", "topic": "orders", "partition": 2, "offset": 0}]),
        "transactions[0].offsets[0].partition: the topic orders has 2, from 0 to 1",
    ),
    (
        {"groups": [{"group_id": "g", "offsets": [{"topic": "none", "partition": 0, "offset": 0}]}]},
        "groups[0].offsets[0].topic: there is no topic none",
    ),
    (
        {"groups": [{"group_id": "g", "offsets": [{"topic": "there", "partition": 0, "offset": 0}] * 2}]},
        "groups[0].offsets[1]: partition 0 of there stands twice",
    ),
    ({"users": [{"name": "a", "password": "b"}] * 2}, "users[1]: the user a stands twice"),
    (
        {"acls": [{"principal": "User:a", "operations": ["Read"]}]},
        "acls[0]: exactly one of topic, group, transactional_id, delegation_token, user, cluster is needed",
    ),
    (
        {"acls": [{"principal": "User:a", "operations": ["Raed"], "topic": "x"}]},
        "acls[0].operations[0]: there is no operation Raed: did you mean Read?",
    ),
    (
        {"acls": [{"principal": "User:a", "operations": ["Write"], "group": "x"}]},
        "acls[0].operations[0]: Write is no operation of this kind of resource",
    ),
]


@pytest.mark.parametrize(("values", "sentence"), WRONG, ids=[sentence[:60] for _, sentence in WRONG])
def test_a_seed_with_a_mistake_is_not_applied_at_all(
    there: tuple[Barnabas, Client], values: dict[str, Any], sentence: str
) -> None:
    broker, client = there
    with pytest.raises(SeedError) as wrong:
        apply(client, read_values(values))
    assert str(wrong.value) == f"seed: {sentence}"
    assert broker.topics() == {"there": 1}
    assert describe_credentials(client) == {}


@pytest.fixture(scope="module")
def there() -> Iterator[tuple[Barnabas, Client]]:
    """A broker with the topic `there`."""
    with Barnabas(topics={"there": 1}, config=AUTHORIZED) as broker, Client(broker.bootstrap_servers) as client:
        yield broker, client


def test_a_transaction_after_one_that_was_left_open_is_refused(client: Client) -> None:
    record = [{"topic": "orders", "value": "x"}]
    left_open = {"transactional_id": "t", "outcome": "open", "records": record}
    values = {"topics": [ORDERS], "transactions": [left_open, {**left_open, "outcome": "committed"}]}
    with pytest.raises(SeedError, match=r"transactions\[1\]: the transaction of t before this one was left open$"):
        apply(client, read_values(values))


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (
            '{"value": 1}',
            "orders.jsonl, line 2: value: expected a string or null, got a whole number: write it in quotes",
        ),
        ("{", "orders.jsonl, line 2: this is not a record as JSON: Input data was truncated"),
        ('{"valeu": "x"}', "orders.jsonl, line 2: valeu: there is no such field: did you mean value?"),
        ('{"value": "x", "partition": 9}', "orders.jsonl, line 2: partition: the topic orders has 2, from 0 to 1"),
    ],
)
def test_a_mistake_in_a_file_of_records_has_its_line(
    there: tuple[Barnabas, Client], tmp_path: Path, line: str, sentence: str
) -> None:
    (tmp_path / "orders.jsonl").write_text('{"value": "good"}\n' + line + "\n")
    seed = tmp_path / "shop.yaml"
    seed.write_text(json.dumps({"topics": [{**ORDERS, "records_from": [{"file": "orders.jsonl"}]}]}))
    with pytest.raises(SeedError) as wrong:
        apply(there[1], read_file(str(seed)))
    assert str(wrong.value) == sentence
