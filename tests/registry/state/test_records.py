"""The records of _schemas, byte for byte as Confluent's registry writes them, and what is read of others."""

import pytest

from barnabas.registry.state.metadata import read_metadata
from barnabas.registry.state.records import (
    ClearSubjectRecord,
    ConfigRecord,
    ContextRecord,
    DeleteSubjectRecord,
    InvalidRegistryRecord,
    ModeRecord,
    RegistryRecord,
    SchemaRecord,
    decode,
    encode,
)
from barnabas.registry.state.rule_sets import read_rule_set
from barnabas.registry.state.stored_schema import SchemaContent, SchemaReference, StoredSchema, fingerprint_of_guid

STRING = SchemaContent("AVRO", (), None, None, '"string"')
FULL = SchemaContent(
    "PROTOBUF",
    (SchemaReference("a.proto", "a", 2),),
    read_metadata({"properties": {"owner": "x", "env": "é"}, "tags": {"**": ["PII", "A"]}, "unknown": 1}),
    read_rule_set({"domainRules": [{"name": "r", "type": "CEL", "tags": ["b", "a"], "expr": "x\x1f"}]}),
    'syntax = "proto3";\n',
)


def schema(content: SchemaContent, *, is_deleted: bool = False) -> StoredSchema:
    return StoredSchema("s", 1, 7, content, content.fingerprint, is_deleted, 5)


@pytest.mark.parametrize(
    ("record", "key", "value"),
    [
        (
            SchemaRecord("s", 1, schema(STRING)),
            '{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}',
            '{"subject":"s","version":1,"id":7,"schemaType":"AVRO","schema":"\\"string\\"","deleted":false}',
        ),
        (
            SchemaRecord("s", 1, schema(FULL, is_deleted=True)),
            '{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}',
            '{"subject":"s","version":1,"id":7,"schemaType":"PROTOBUF",'
            '"references":[{"name":"a.proto","subject":"a","version":2}],'
            '"metadata":{"tags":{"**":["A","PII"]},"properties":{"env":"é","owner":"x"}},'
            '"ruleSet":{"domainRules":[{"name":"r","kind":"TRANSFORM","mode":"WRITEREAD","type":"CEL","tags":["a","b"],'
            '"expr":"x\\u001F","disabled":false}]},"schema":"syntax = \\"proto3\\";\\n","deleted":true}',
        ),
        (SchemaRecord("s", 2, None), '{"keytype":"SCHEMA","subject":"s","version":2,"magic":1}', None),
        (
            DeleteSubjectRecord("s", 3),
            '{"keytype":"DELETE_SUBJECT","subject":"s","magic":0}',
            '{"subject":"s","version":3}',
        ),
        (ClearSubjectRecord(None), '{"keytype":"CLEAR_SUBJECT","magic":0}', "{}"),
        (
            ConfigRecord(None, {"compatibilityLevel": "FULL"}),
            '{"keytype":"CONFIG","magic":0}',
            '{"compatibilityLevel":"FULL"}',
        ),
        (
            ConfigRecord("s", {"normalize": True, "compatibilityLevel": "NONE"}),
            '{"keytype":"CONFIG","subject":"s","magic":0}',
            '{"subject":"s","normalize":true,"compatibilityLevel":"NONE"}',
        ),
        (ConfigRecord("s", None), '{"keytype":"CONFIG","subject":"s","magic":0}', None),
        (
            ModeRecord(":.c:", "IMPORT"),
            '{"keytype":"MODE","subject":":.c:","magic":0}',
            '{"subject":":.c:","mode":"IMPORT"}',
        ),
        (
            ContextRecord(".c", is_present=True),
            '{"keytype":"CONTEXT","tenant":"default","context":".c","magic":0}',
            '{"tenant":"default","context":".c"}',
        ),
    ],
)
def test_a_record_has_confluents_bytes_and_is_read_again(record: RegistryRecord, key: str, value: str | None) -> None:
    encoded = encode(record)
    assert encoded == (key.encode(), None if value is None else value.encode())
    assert decode(*encoded, 5) == record


@pytest.mark.parametrize(
    ("key", "value", "record"),
    [
        (  # of an old registry, without type and mark
            '{"magic":0,"keytype":"SCHEMA","version":1,"subject":"s"}',
            '{"schema":"\\"string\\"","id":7,"version":1,"subject":"s","offset":1}',
            SchemaRecord("s", 1, schema(STRING)),
        ),
        (
            '{"keytype":"CONFIG","subject":null,"magic":0}',
            '{"compatibilityLevel":"NONE"}',
            ConfigRecord(None, {"compatibilityLevel": "NONE"}),
        ),
        ('{"keytype":"NOOP","magic":0}', None, None),
        ('{"keytype":"ASSOC","magic":0}', "{}", None),
        ('{"keytype":"DELETE_SUBJECT","subject":"s","magic":0}', None, None),
    ],
)
def test_records_of_other_registries_are_read(key: str, value: str | None, record: RegistryRecord | None) -> None:
    assert decode(key.encode(), None if value is None else value.encode(), 5) == record


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, None),
        (b"no json", None),
        (b"[]", None),
        (b'{"keytype":"SCHEMA","subject":"s"}', b"{}"),
        (b'{"keytype":"SCHEMA","subject":"s","version":1}', b'{"id":"1","schema":"x"}'),
        (b'{"keytype":"SCHEMA","subject":"s","version":1}', b"[" * 200_000),
        (b'{"keytype":"MODE"}', b'{"mode":"SIDEWAYS"}'),
    ],
)
def test_a_record_that_makes_no_sense_is_refused(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(InvalidRegistryRecord):
        decode(key, value, 5)


def test_a_guid_is_the_md5_of_the_content() -> None:
    assert schema(STRING).guid == "095d71cf-1255-6b9d-5e33-0ad575b3df5d"
    assert fingerprint_of_guid(schema(FULL).guid) == FULL.fingerprint
    assert fingerprint_of_guid("no guid") is None
    assert len({STRING.fingerprint, STRING._replace(metadata={}).fingerprint, FULL.fingerprint}) == 3
