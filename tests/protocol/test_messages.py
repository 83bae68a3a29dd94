"""What holds of every message class, whichever API it belongs to."""

from random import Random
from typing import Any

import pytest

from barnabas.protocol.codec import reference
from barnabas.protocol.codec.compile import codec
from barnabas.protocol.codec.schema import Field, FieldType, Struct, default_instance
from barnabas.protocol.primitives import Buffer
from barnabas.storage.steps import finish
from tests.support.records.messages import make, our_messages, our_stored

PYTHON_TYPES: dict[str, Any] = {
    **dict.fromkeys(("int8", "int16", "uint16", "int32", "int64"), int),
    "float64": float,
    "bool": bool,
    "uuid": bytes,
    "string": str,
    "bytes": bytes,
    "records": Buffer,
}

every_struct = pytest.mark.parametrize("struct", [*our_messages(), *our_stored()], ids=lambda struct: struct.__name__)


@every_struct
def test_annotations_say_what_the_schema_says(struct: type[Struct]) -> None:
    for field in struct.__schema__.fields:
        assert struct.__annotations__[field.name] == annotation(field), f"{struct.__name__}.{field.name}"
        element = field.type.element or field.type
        if element.struct is not None:
            test_annotations_say_what_the_schema_says(element.struct)


def annotation(field: Field) -> Any:
    nullable = field.nullable != "none" or field.may_be_unset
    python_type = python_type_of(field.type)
    return python_type | None if nullable else python_type


def python_type_of(type: FieldType) -> Any:
    if type.element is not None:
        return list[python_type_of(type.element)]  # type: ignore[misc]  # because this is a value, not an annotation
    return type.struct or PYTHON_TYPES[type.name]


@every_struct
def test_defaults_round_trip_in_every_version(struct: type[Struct]) -> None:
    message = default_instance(struct)
    for version in struct.__schema__.valid_versions:
        encoded = codec(struct, version).encode(message)
        assert codec(struct, version).decode(encoded) == (message, len(encoded))


@every_struct
def test_made_up_values_agree_with_the_reference_in_every_version(struct: type[Struct]) -> None:
    rng = Random(struct.__name__)
    for version in struct.__schema__.valid_versions:
        message = make(struct, version, rng)
        encoded = codec(struct, version).encode(message)
        assert encoded == reference.encode(message, version)
        assert codec(struct, version).decode(encoded) == (message, len(encoded))
        assert reference.decode(struct, version, encoded) == (message, len(encoded))


@every_struct
def test_encoding_and_decoding_in_steps_come_to_the_same(struct: type[Struct]) -> None:
    rng = Random(struct.__name__)
    for version in struct.__schema__.valid_versions:
        message = make(struct, version, rng)
        out = bytearray(b"before")
        for _ in codec(struct, version).encode_in_steps(message, out):
            pass
        assert out == b"before" + codec(struct, version).encode(message)
        assert finish(codec(struct, version).decode_in_steps(out, len(b"before"))) == (message, len(out))
