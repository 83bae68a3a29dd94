"""Reading a seed: what is wrong is said in one sentence with file, line and field."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from barnabas.broker.server.seeding.document import json_schema
from barnabas.broker.server.seeding.errors import SeedError
from barnabas.broker.server.seeding.reading import read_file, read_values
from tests.support.processes.server import ROOT

SHOP = """\
topics:
  - name: orders
    partitions: 3
    config: {retention.ms: -1}
    records:
      - {key: "1", value_json: {id: 1}}
      - {value: text, timestamp: 2026-01-01T00:00:00Z}
"""


def written(tmp_path: Path, text: str, name: str = "shop.yaml") -> str:
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def test_yaml_and_json_give_the_same_seed(tmp_path: Path) -> None:
    as_yaml = read_file(written(tmp_path, SHOP))
    records = [{"key": "1", "value_json": {"id": 1}}, {"value": "text", "timestamp": "2026-01-01T00:00:00+00:00"}]
    values = {"topics": [{"name": "orders", "partitions": 3, "config": {"retention.ms": -1}, "records": records}]}
    as_json = read_file(written(tmp_path, json.dumps(values, indent="\t"), "shop.json"))
    assert as_yaml.seed == as_json.seed == read_values(values).seed
    assert as_yaml.seed.topics[0].records[1].timestamp == datetime(2026, 1, 1, tzinfo=UTC)
    assert as_yaml.folder == str(tmp_path)


def test_an_empty_file_is_a_seed_of_nothing(tmp_path: Path) -> None:
    assert read_file(written(tmp_path, "# nothing yet\n")).seed == read_values({}).seed


WRONG = [
    ("topics: [{name: a, recrods: []}]", "line 1: topics[0].recrods: there is no such field: did you mean records?"),
    ("group: []", "line 1: group: there is no such field: did you mean groups?"),
    (
        "transactions: [{transactional_id: t, outcome: open, records: [{topc: a}]}]",
        "line 1: transactions[0].records[0].topc: there is no such field: did you mean topic?",
    ),
    ("topics:\n  - partitions: 1", "line 2: topics[0]: the field name is missing"),
    ("topics:\n  - name: a\n    partitions: 0", "line 3: topics[0].partitions: expected a whole number of at least 1"),
    (
        "topics:\n  - name: a b\n",
        "line 2: topics[0].name: a topic's name has letters, digits, '.', '_' and '-' only",
    ),
    ("topics:\n  - name: ''\n", "line 2: topics[0].name: expected at least 1 characters"),
    (
        "topics:\n- name: a\n  records:\n  - value: 5\n",
        "line 4: topics[0].records[0].value: expected a string or null, got a whole number: write it in quotes",
    ),
    (
        "topics:\n- name: a\n  records:\n  - {value: x, timestamp: 2026-01-01}",
        "line 4: topics[0].records[0].timestamp: expected a whole number or a date with its time and time zone or "
        "null, got a date",
    ),
    (
        "transactions:\n- {transactional_id: t, outcome: done}",
        "line 2: transactions[0].outcome: expected committed, aborted or open",
    ),
    (
        "acls:\n- {principal: alice, operations: [Read]}",
        "line 2: acls[0].principal: a principal is written as User:name",
    ),
    ("groups:\n- {group_id: g, offsets: []}", "line 2: groups[0].offsets: expected at least 1 entries"),
    ("version: 2", "line 1: version: expected 1"),
    ("- topics", "line 1: expected a mapping, got a list"),
    ("topics:\n\t- a", "line 2: found character that cannot start any token"),
    ("topics: []\ngroups: []\ntopics: []\n", "line 1: the field topics stands twice"),
    ('{"topics": [], "topics": []}', "the field topics stands twice in one object"),
    ('{"topics": [\n1 2]}', "line 2: this is not JSON: expecting ',' delimiter"),
    (
        '{"topics": [\n\t{"name": "a",\n\t"partition": 1}]}',
        "line 3: topics[0].partition: there is no such field: did you mean partitions?",
    ),
]


@pytest.mark.parametrize(("text", "sentence"), WRONG)
def test_what_is_wrong_is_said_in_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(SeedError) as wrong:
        read_file(path)
    assert str(wrong.value) in (f"{path}, {sentence}", f"{path}: {sentence}")


def test_a_file_that_is_not_utf_8_is_refused_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_bytes(b"topics:\n  - name: \xff\n")
    with pytest.raises(SeedError, match=r"line 2: this is not UTF-8$"):
        read_file(str(path))


def test_values_that_nest_deeply_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SeedError, match="nested too deeply"):
        read_file(written(tmp_path, '{"topics": ' + "[" * 200_000 + "]" * 200_000 + "}"))


def test_no_password_is_shown() -> None:
    source = read_values({"users": [{"name": "alice", "password": "wonderland"}]})
    assert "wonderland" not in repr(source.seed)


@pytest.mark.parametrize(
    ("values", "is_valid"),
    [
        ({"topics": [{"name": "orders", "records": [{"value": None}]}]}, True),
        ({"topics": [{"name": "orders", "recrods": []}]}, False),
        ({"topics": [{"name": "a b"}]}, False),
        ({"version": 2}, False),
    ],
)
def test_the_published_schema_accepts_what_is_read(values: dict[str, Any], is_valid: bool) -> None:
    published = json.loads((ROOT / "docs" / "seed.schema.json").read_text())
    assert published == json_schema()
    assert Draft202012Validator(published).is_valid(values) is is_valid
