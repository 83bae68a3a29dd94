"""Avro schemas are printed, and refused, as Avro's Java library does; and normalized as Confluent's registry does."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.registry.schemas.languages import parse
from barnabas.registry.schemas.parsed_schema import InvalidSchema, ReferencedSchema
from tests.support.kafka.schema_pairs import GOLDEN

CASES = json.loads((GOLDEN / "avro_texts.json").read_text())


def _references(texts: list[str]) -> tuple[ReferencedSchema, ...]:
    return tuple(ReferencedSchema(str(number), "s", number, text) for number, text in enumerate(texts))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["text"][:60])
def test_a_text_is_what_java_prints(case: dict[str, Any]) -> None:
    text, references = case["text"], _references(case.get("references", []))
    if isinstance(case["java"], dict):
        with pytest.raises(InvalidSchema):
            parse("AVRO", text, references)
    else:
        assert parse("AVRO", text, references).canonical_text == case["java"]


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        (
            '{"type":"record","name":"R","fields":[{"name":"f","type":"float","default":3.4028234663852886e38}]}',
            '{"type":"record","name":"R","fields":[{"name":"f","type":"float","default":3.4028235E38}]}',
        ),
        ('{"type": "string", "b": 1, "a": {"d": 1, "c": 2}}', '{"type":"string","a":{"c":2,"d":1},"b":1}'),
        (
            '{"type":"bytes","scale":2,"precision":4,"a":0,"logicalType":"decimal"}',
            '{"type":"bytes","logicalType":"decimal","precision":4,"scale":2,"a":0}',
        ),
        (
            '{"type":"bytes","scale":0,"precision":4,"a":0,"logicalType":"decimal"}',
            '{"type":"bytes","logicalType":"decimal","precision":4,"a":0,"scale":0}',
        ),
        ('{"type":"string","a":0,"logicalType":"decimal"}', '{"type":"string","a":0,"logicalType":"decimal"}'),
        (
            '{"type":"record","name":"R","namespace":"n","doc":"","aliases":["c","a.b"],"fields":['
            '{"name":"d","type":"double","default":1},{"name":"m","type":["null","float"],"default":0.10}]}',
            '{"type":"record","name":"R","namespace":"n","fields":[{"name":"d","type":"double","default":1.0},'
            '{"name":"m","type":["null","float"],"default":0.1}],"aliases":["a.b","c"]}',
        ),
    ],
)
def test_a_normalized_text_has_what_has_no_order_in_one(text: str, normalized: str) -> None:
    assert parse("AVRO", text).normalized_text == normalized


@pytest.mark.parametrize(
    ("type_", "default", "normalized"),
    [
        ('{"type":"array","items":"int"}', '[1,"x"]', "[1,null]"),
        ('{"type":"map","values":"int"}', '{"a":"x"}', '{"a":null}'),
        ('"double"', f"-{10**400}", '"-Infinity"'),
        ('"float"', "1e400", '"Infinity"'),
    ],
)
def test_a_stored_default_that_is_no_value_of_its_type_is_normalized_too(
    type_: str, default: str, normalized: str
) -> None:
    before, after = '{"type":"record","name":"R","fields":[{"name":"f","type":', "}]}"
    stored = parse("AVRO", f'{before}{type_},"default":{default}{after}', is_new=False)
    assert stored.normalized_text == f'{before}{type_},"default":{normalized}{after}'


_NAMES = st.sampled_from(("A", "b.A", "b.B", "C"))
_SCHEMAS = st.recursive(
    st.sampled_from(("null", "int", "double", "string", {"type": "int", "logicalType": "date", "x": [1.5]})),
    lambda inner: st.one_of(
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(lambda values: {"type": "map", "values": values, "a": None}, inner),
        st.builds(
            lambda name, types: {
                "type": "record",
                "name": name,
                "fields": [{"name": f"f{number}", "type": each} for number, each in enumerate(types)],
            },
            _NAMES,
            st.lists(inner, max_size=3),
        ),
    ),
    max_leaves=12,
)


@given(_SCHEMAS)
def test_a_printed_schema_is_the_same_schema(schema: object) -> None:
    try:
        parsed = parse("AVRO", json.dumps(schema))
    except InvalidSchema:  # it has a name twice
        return
    again = parse("AVRO", parsed.canonical_text)
    assert again.canonical_text == parsed.canonical_text
    assert again.normalized_text == parsed.normalized_text == parse("AVRO", parsed.normalized_text).normalized_text
    assert not again.incompatibilities(parsed)


def test_a_reference_is_written_by_name_and_in_full_where_all_is_asked_for() -> None:
    inner = ReferencedSchema("n.I", "inner", 1, '{"type":"record","name":"n.I","fields":[]}')
    parsed = parse("AVRO", '{"type":"record","name":"R","fields":[{"name":"i","type":"n.I"}]}', [inner])
    assert parsed.canonical_text == '{"type":"record","name":"R","fields":[{"name":"i","type":"n.I"}]}'
    assert '"namespace":"n"' in parsed.formatted_text("resolved")
