"""What is no schema, or too large, is refused with a sentence, in bounded time and memory, whatever its form."""

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.registry.schemas.languages import LANGUAGES, parse
from barnabas.registry.schemas.parsed_schema import InvalidSchema, ReferencedSchema

MEGABYTE = 1 << 20
BUDGET_S = 20.0  # of processor time: far more than any needs, and far less than what grows with the square takes


def _chain(count: int) -> str:
    """Return an Avro union of records, each of which names the one before it."""
    records = ['{"type":"record","name":"R0","fields":[]}']
    records += [
        f'{{"type":"record","name":"R{number}","fields":[{{"name":"a","type":"R{number - 1}"}}]}}'
        for number in range(1, count)
    ]
    return f"[{','.join(records)}]"


NESTED = {
    "AVRO": '{"type":"array","items":' * (MEGABYTE // 24),
    "AVRO of lists": "[" * MEGABYTE,
    "AVRO of quotes": '{"' + '\\"' * (MEGABYTE // 2),
    "AVRO of comments": "/*" * (MEGABYTE // 2),
    "JSON": '{"not":' * (MEGABYTE // 7),
    "JSON of brackets": "[]," * (MEGABYTE // 3),
    "PROTOBUF": 'syntax = "proto3";' + "message A {" * (MEGABYTE // 11),
    "PROTOBUF of options": "option (a) = " + "{b: " * (MEGABYTE // 4),
    "PROTOBUF of lists": "option (a) = {b: " + "[" * MEGABYTE,
    "PROTOBUF of parts": "option a" + ".b" * (MEGABYTE // 2),
    "PROTOBUF of comments": "/*" * (MEGABYTE // 2),
    "PROTOBUF of quotes": 'import "' + '\\"' * (MEGABYTE // 2),
    "PROTOBUF of base64": "Cg" * (MEGABYTE // 2),
}


@pytest.mark.parametrize("name", NESTED)
def test_a_megabyte_of_nesting_is_refused(name: str) -> None:
    begun = time.process_time()
    with pytest.raises(InvalidSchema, match=r"\.$"):
        parse(name.split()[0], NESTED[name])
    assert time.process_time() - begun < BUDGET_S


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("AVRO", _chain(4_000)),
        ("AVRO", '{"type":"enum","name":"E","symbols":[' + ",".join(f'"S{number}"' for number in range(30_000)) + "]}"),
        ("JSON", '{"enum":[' + ",".join(map(str, range(30_000))) + "]}"),
        (
            "JSON",
            '{"definitions":{'
            + ",".join(f'"d{n}":{{"$ref":"#/definitions/d{n + 1}"}}' for n in range(5_000))
            + ',"d5000":{"type":"string"}},"$ref":"#/definitions/d0"}',
        ),
        ("PROTOBUF", "message M {" + "".join(f"optional string f{n} = {n + 1};" for n in range(8_000)) + "}"),
        ("PROTOBUF", "enum E {" + "".join(f"C{n} = {n};" for n in range(15_000)) + "}"),
    ],
    ids=("records", "symbols", "values", "references", "fields", "constants"),
)
def test_a_large_schema_is_printed_and_compared(language: str, text: str) -> None:
    begun = time.process_time()
    parsed = parse(language, text)
    assert parsed.canonical_text
    assert parsed.normalized_text
    assert not parsed.incompatibilities(parse(language, text))
    assert time.process_time() - begun < BUDGET_S


@pytest.mark.parametrize(
    ("language", "head", "middle", "tail"),
    [
        ("AVRO", '{"type":"array","items":', '"int"', "}"),
        ("JSON", '{"not":', "true", "}"),
        ("AVRO", '{"type":"int","x":[', "1", "]}"),
    ],
)
def test_nesting_within_the_limit_is_printed_and_compared(language: str, head: str, middle: str, tail: str) -> None:
    depth = 395 if tail == "}" else 1
    inner = middle if tail == "}" else "[" * 390 + middle + "]" * 390
    parsed = parse(language, head * depth + inner + tail * depth)
    assert parse(language, parsed.normalized_text).canonical_text == parsed.normalized_text
    assert parsed.described()
    assert not parsed.incompatibilities(parse(language, parsed.canonical_text))


@pytest.mark.parametrize("language", LANGUAGES)
@given(text=st.text(max_size=40))
def test_no_text_fails_otherwise_than_as_no_schema(language: str, text: str) -> None:
    with suppress(InvalidSchema):  # what else it raises is the failure
        parse(language, text)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("AVRO", '"\\ud800"'),
        ("AVRO", '{"type":"record","name":"R","fields":[{"name":"r","type":"R","default":{}}]}'),
        ("AVRO", '{"type":"int","a":NaN}'),
        ("AVRO", "\ud800"),
        ("JSON", "[]"),
        ("JSON", '{"type":"strange"}'),
        ("JSON", '{"minLength":"1"}'),
        ("JSON", '{"required":true}'),
        ("JSON", '{"multipleOf":0}'),
        ("JSON", '{"$ref":"#/definitions/missing"}'),
        ("JSON", '{"$ref":"http://example.com/other.json"}'),
        ("JSON", '{"properties":{"a":1}}'),
        ("JSON", '{"properties":{"$$a":{}}}'),
        ("JSON", '{"minimum":1e99999999999999999999999}'),
        ("PROTOBUF", 'edition = "2023";'),
        ("PROTOBUF", 'syntax = "proto4";'),
        ("PROTOBUF", 'syntax = "proto3"; message M { string a = 1; string b = 1; }'),
        ("PROTOBUF", 'syntax = "proto3"; message M { string a = 0; }'),
        ("PROTOBUF", 'syntax = "proto3"; message M { string a = 536870912; }'),
        ("PROTOBUF", 'syntax = "proto3"; message M { Missing a = 1; }'),
        ("PROTOBUF", 'syntax = "proto3"; message M { required string a = 1; }'),
        ("PROTOBUF", 'syntax = "proto3"; message M {} message M {}'),
        ("PROTOBUF", 'import "missing.proto";'),
        ("PROTOBUF", "message M { string a = 1; }"),
    ],
)
def test_what_breaks_a_rule_is_refused_with_a_sentence(language: str, text: str) -> None:
    with pytest.raises(InvalidSchema, match=r"^[^\n]{10,400}\.$"):
        parse(language, text)


def test_references_that_meet_again_are_read_once() -> None:
    first = ReferencedSchema("n.A", "a", 1, '{"type":"record","name":"n.A","fields":[]}')
    others: list[ReferencedSchema] = []
    for number in range(50):  # each refers to three before it
        text = f'{{"type":"fixed","name":"F{number}","size":1}}'
        others.append(ReferencedSchema(f"n{number}", "f", 1, text, tuple(others[-3:])))
    assert parse("AVRO", '"n.A"', [first, *others, first]).canonical_text == '"n.A"'


def test_references_multiply_in_no_comparison() -> None:
    """30 definitions, each with two references to the next, have a billion paths to the last."""

    def doubled(last: str) -> str:
        references = [f'{{"$ref":"#/definitions/d{n + 1}"}}' for n in range(30)]
        definitions = [f'"d{n}":{{"properties":{{"a":{each},"b":{each}}}}}' for n, each in enumerate(references)]
        return f'{{"definitions":{{{",".join(definitions)},"d30":{last}}},"$ref":"#/definitions/d0"}}'

    update = parse("JSON", doubled('{"type":"integer"}'))
    assert 0 < len(update.incompatibilities(parse("JSON", doubled('{"type":"string"}')))) <= 200
