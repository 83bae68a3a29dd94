"""Which names count as fields of a schema, where reserved names are checked: those at its top."""

import json

import pytest

from barnabas.registry.schemas.languages import parse

INNER = {"type": "record", "name": "Inner", "fields": [{"name": "deep", "type": "int"}]}
AVRO = {"type": "record", "name": "Outer", "fields": [{"name": "top", "type": INNER, "aliases": ["other"]}]}
JSON = {"type": "object", "properties": {"top": {"type": "object", "properties": {"deep": {}}}}, "required": ["other"]}
PROTOBUF = """syntax = "proto3";
message First { message Inner { int32 deep = 1; } Inner inner = 1; oneof one { int32 other = 2; } }
message Second { int32 top = 1; }
enum Third { DEEP = 0; }
"""


@pytest.mark.parametrize(
    ("schema_type", "text"),
    [("AVRO", json.dumps(AVRO)), ("JSON", json.dumps(JSON)), ("PROTOBUF", PROTOBUF)],
)
def test_a_field_is_at_the_top_or_it_is_none(schema_type: str, text: str) -> None:
    schema = parse(schema_type, text)
    assert [name for name in ("top", "deep", "other", "Outer", "DEEP") if schema.has_top_level_field(name)] == ["top"]


@pytest.mark.parametrize(
    ("schema_type", "text"),
    [("AVRO", '"string"'), ("AVRO", '["null"]'), ("JSON", "true"), ("JSON", '{"type": "string"}')],
)
def test_what_has_no_fields_has_not_this_one(schema_type: str, text: str) -> None:
    assert not parse(schema_type, text).has_top_level_field("top")
