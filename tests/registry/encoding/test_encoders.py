"""Plain values as messages: those of confluent-kafka's serializers for the same values, and what does not fit."""

from __future__ import annotations

import pytest

from barnabas.registry.decoding.decoders import decoder_for
from barnabas.registry.encoding.encoders import encoder_for
from barnabas.registry.encoding.errors import UnencodableValue
from tests.registry.decoding.test_decoders import RECORDED, REFERENCES

LOGICAL = """[
  {"type": "int", "logicalType": "date"},
  {"type": "fixed", "name": "F", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 3},
  {"type": "long", "logicalType": "local-timestamp-micros"}
]"""
ID = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"
PAIR = """{"type": "record", "name": "P", "fields": [
  {"name": "a", "type": "int"}, {"name": "b", "type": ["null", "string"], "default": null},
  {"name": "c", "type": "double", "default": 2}
]}"""


@pytest.mark.parametrize(
    ("schema_type", "text", "recorded", "value"), [each for each in RECORDED if str(each.id).startswith("avro")]
)
def test_avro_is_encoded_as_by_confluents_serializer(schema_type: str, text: str, recorded: str, value: object) -> None:
    assert encoder_for(schema_type, text, REFERENCES.get(text, ()))(value).hex() == recorded[10:]


@pytest.mark.parametrize(
    ("text", "value", "decoded"),
    [
        (PAIR, {"a": 1}, {"a": 1, "b": None, "c": 2.0}),
        (LOGICAL, "2026-11-30", "2026-11-30"),
        (LOGICAL, -1.5, "-1.500"),
        (LOGICAL, "0.001", "0.001"),
        (LOGICAL, "2026-11-30T06:30:00.123456", "2026-11-30T06:30:00.123456"),
        ('{"type": "long", "logicalType": "timestamp-millis"}', "2026-11-30T06:30:00Z", "2026-11-30T06:30:00Z"),
        ('{"type": "long", "logicalType": "timestamp-millis"}', 0, "1970-01-01T00:00:00Z"),
        ('{"type": "long", "logicalType": "time-micros"}', "06:30:00", "06:30:00"),
        ('{"type": "int", "logicalType": "time-millis"}', "06:30:00.120", "06:30:00.120000"),
        ('{"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}', ID, ID),
        ('{"type": "map", "values": "long"}', {"a": -(2**63), "b": 2**63 - 1}, {"a": -(2**63), "b": 2**63 - 1}),
        ('{"type": "array", "items": "float"}', [0.1, "NaN", 3], [0.1, "NaN", 3.0]),
        ('{"type": "array", "items": "int"}', [], []),
        ('"bytes"', "\x00ÿ", "\x00ÿ"),
    ],
)
def test_what_is_encoded_is_decoded_to_the_same(text: str, value: object, decoded: object) -> None:
    assert decoder_for("AVRO", text)(encoder_for("AVRO", text)(value)) == decoded


def test_json_is_encoded_as_it_is() -> None:
    assert encoder_for("JSON", "{}")({"ü": 1}) == '{"ü": 1}'.encode()


@pytest.mark.parametrize(
    ("schema_type", "text", "value", "why"),
    [
        ("AVRO", PAIR, {"a": "x"}, "a is no int: 'x'"),
        ("AVRO", PAIR, {"a": 1, "d": 1}, "P has no field d"),
        ("AVRO", PAIR, {}, "a is missing, and has no default"),
        ("AVRO", PAIR, [], "the value is no P: []"),
        ("AVRO", PAIR, {"a": 1, "b": 5}, "b is no union: 5"),
        ("AVRO", f'["null", {PAIR}]', {"a": 1.5}, "a is no int: 1.5"),
        ("AVRO", '{"type": "array", "items": {"type": "map", "values": "int"}}', [{}, {"k": 2**31}], "[1].k is no int"),
        ("AVRO", '{"type": "enum", "name": "E", "symbols": ["A"]}', "B", "is no E: 'B'"),
        ("AVRO", '{"type": "fixed", "name": "F", "size": 2}', "abc", "is no F: 'abc'"),
        ("AVRO", '{"type": "int", "logicalType": "date"}', "tomorrow", "is no int: 'tomorrow'"),
        ("AVRO", '"float"', 1e300, "is no float: 1e+300"),
        ("AVRO", '"boolean"', 1, "is no boolean: 1"),
        ("PROTOBUF", 'syntax = "proto3"; message M {}', {}, "give them as base64"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(schema_type: str, text: str, value: object, why: str) -> None:
    with pytest.raises(UnencodableValue) as refused:
        encoder_for(schema_type, text)(value)
    assert why in str(refused.value)
