"""JSON schemas: which drafts say what, where references lead, and what Confluent's rules say of their keywords."""

import json

import pytest

from barnabas.registry.schemas.languages import parse
from barnabas.registry.schemas.parsed_schema import InvalidSchema, ReferencedSchema

DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"


def kinds(original: object, update: object, *, lenient: bool = False) -> list[str]:
    """Return the refused changes by kind and place."""
    schema = parse("JSON", json.dumps(update))
    found = schema.incompatibilities(parse("JSON", json.dumps(original)), lenient=lenient)
    return [f"{each.kind} {each.path}" for each in found]


def test_a_text_keeps_its_order_and_its_numbers_and_a_normalized_one_has_keys_in_order() -> None:
    parsed = parse("JSON", '{"b": 1.50, "a": {"d": 1E+2, "c": [ {"f": 0, "e": "\\u00e9\\u0001"} ]}}')
    assert parsed.canonical_text == '{"b":1.50,"a":{"d":1E+2,"c":[{"f":0,"e":"é\\u0001"}]}}'
    assert parsed.normalized_text == '{"a":{"c":[{"e":"é\\u0001","f":0}],"d":1E+2},"b":1.50}'


@pytest.mark.parametrize(
    ("original", "update", "refused"),
    [
        # before 2019-09 nothing beside a $ref counts
        (
            {"$ref": "#/definitions/s", "definitions": {"s": {"type": "string"}}},
            {"$ref": "#/definitions/s", "maxLength": 3, "definitions": {"s": {"type": "string"}}},
            [],
        ),
        (
            {"$schema": DRAFT_2020, "$ref": "#/$defs/s", "$defs": {"s": {"type": "string"}}},
            {"$schema": DRAFT_2020, "$ref": "#/$defs/s", "maxLength": 3, "$defs": {"s": {"type": "string"}}},
            ["TYPE_CHANGED #/"],
        ),
        # const is of draft 6, unevaluatedProperties of 2019-09
        ({}, {"$schema": "http://json-schema.org/draft-04/schema#", "const": 1}, []),
        ({"type": "object"}, {"type": "object", "unevaluatedProperties": False}, []),
        (
            {"$schema": DRAFT_2019, "type": "object"},
            {"$schema": DRAFT_2019, "type": "object", "unevaluatedProperties": False},
            ["UNEVALUATED_PROPERTIES_REMOVED #/unevaluatedProperties"],
        ),
        (
            {"$schema": DRAFT_2020, "type": "array", "prefixItems": [{"type": "string"}], "items": False},
            {"$schema": DRAFT_2020, "type": "array", "prefixItems": [{"type": "number"}], "items": False},
            ["TYPE_CHANGED #/items/0"],
        ),
        # the content model of what was there before decides about a new property
        (
            {"type": "object", "patternProperties": {"^x": {"type": "string"}}},
            {
                "type": "object",
                "patternProperties": {"^x": {"type": "string"}},
                "properties": {"x": {"type": "integer"}},
            },
            [
                "TYPE_CHANGED #/properties/x",
                "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/properties/x",
            ],
        ),
        # a decimal of the JSON converter may change its type
        ({"type": "number", "connect.type": "bytes"}, {"type": "string", "connect.type": "bytes"}, []),
        # two that refer to each other, and differ at the end
        (
            {
                "definitions": {"a": {"properties": {"a": {"$ref": "#/definitions/a"}, "b": {"type": "string"}}}},
                "oneOf": [{"$ref": "#/definitions/a"}],
            },
            {
                "definitions": {"a": {"properties": {"a": {"$ref": "#/definitions/a"}, "b": {"type": "number"}}}},
                "oneOf": [{"$ref": "#/definitions/a"}],
            },
            ["COMBINED_TYPE_SUBSCHEMAS_CHANGED #/"],
        ),
    ],
)
def test_a_change_is_refused_by_what_its_draft_says(original: object, update: object, refused: list[str]) -> None:
    assert kinds(original, update) == refused


def test_a_lenient_policy_takes_a_new_property_of_an_open_object() -> None:
    update = {"type": "object", "properties": {"a": {"type": "string"}}}
    refused = ["OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL #/properties/a"]
    assert (kinds({"type": "object"}, update), kinds({"type": "object"}, update, lenient=True)) == (refused, [])


@pytest.mark.parametrize(
    "reference",
    [
        *("#/definitions/s", "#s", "#/$defs/s", "other.json", "./other.json", "other.json#/definitions/t", "#/x/0"),
        *("http://example.com/other.json#named", "http://example.com/inner.json", "#/definitions/a~1b%20c"),
    ],
)
def test_a_reference_leads_by_pointer_anchor_and_uri(reference: str) -> None:
    text = {"type": "string"}
    other = {"$id": "other.json", **text, "definitions": {"t": text, "n": {"$id": "#named", **text}}}
    inner = {"$id": "http://example.com/inner.json", **text}
    root = {
        "$id": "http://example.com/root.json",
        "definitions": {"s": {"$id": "#s", **text}, "a/b c": text, "inner": inner},
        "x": [text],
        "properties": {"p": {"$ref": reference}},
    }
    parsed = parse("JSON", json.dumps(root), [ReferencedSchema("other.json", "other", 1, json.dumps(other))])
    number = {**root, "properties": {"p": {"type": "number"}}}
    assert [each.kind for each in parsed.incompatibilities(parse("JSON", json.dumps(number)))] == ["TYPE_CHANGED"]


def test_a_meta_schema_is_known_and_nothing_else_is_fetched() -> None:
    parse("JSON", '{"$ref":"http://json-schema.org/draft-07/schema#"}')
    with pytest.raises(InvalidSchema, match="leads to no schema"):
        parse("JSON", '{"$ref":"http://127.0.0.1:9/schema.json"}')
