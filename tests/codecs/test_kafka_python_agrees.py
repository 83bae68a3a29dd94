"""kafka-python's protocol module reads what we write, finds the same values in it, and writes the same bytes.

It is generated from an independent reading of the same definitions and knows most APIs, some of them not in the newest
version. Fields are paired by position: it renames a few.
"""

import uuid
from random import Random
from typing import Any

import kafka.protocol.admin
import kafka.protocol.consumer
import kafka.protocol.metadata
import kafka.protocol.producer
import kafka.protocol.sasl
import pytest

from barnabas.protocol.codec.compile import codec
from barnabas.protocol.codec.schema import Struct
from barnabas.protocol.messages.api_versions import ApiVersionsResponse
from barnabas.protocol.primitives import ZERO_UUID
from barnabas.protocol.registry import ApiKey, spec
from tests.support.records.messages import make

MODULES = (
    kafka.protocol.admin,
    kafka.protocol.consumer,
    kafka.protocol.metadata,
    kafka.protocol.producer,
    kafka.protocol.sasl,
)


def theirs_by_name() -> dict[str, Any]:
    return {name: getattr(module, name) for module in MODULES for name in module.__all__}


THEIRS = theirs_by_name()
SHARED = [
    message for key in ApiKey for message in (spec(key).request, spec(key).response) if message.__name__ in THEIRS
]


def test_kafka_python_has_most_of_our_apis() -> None:
    assert len(SHARED) > 100


@pytest.mark.parametrize("struct", SHARED, ids=lambda struct: struct.__name__)
def test_kafka_python_reads_and_rewrites_our_bytes(struct: type[Struct]) -> None:
    their_class = THEIRS[struct.__name__]
    rng = Random(struct.__name__)
    for version in struct.__schema__.valid_versions:
        if version > their_class.max_version:
            continue
        for _ in range(5):
            message = make(struct, version, rng)
            if isinstance(message, ApiVersionsResponse):
                message.error_code = 0  # with UNSUPPORTED_VERSION it reads the rest in version 0, as a client should
            encoded = codec(struct, version).encode(message)
            decoded = their_class.decode(encoded, version=version)
            assert_same(message, decoded, version)
            decoded._header = None  # decode leaves it out when there is none, encode looks at it
            assert decoded.encode(version=version) == encoded


def assert_same(ours: Struct, theirs: Any, version: int) -> None:
    our_fields = [field for field in ours.__schema__.fields if field.in_version(version)]
    their_fields = [field for field in theirs._struct._fields if field.for_version_q(version)]
    for field, their_field in zip(our_fields, their_fields, strict=True):
        value, other = getattr(ours, field.name), getattr(theirs, their_field.name)
        if their_field.type_str == "bitfield":
            continue  # a set of numbers there; the bytes are compared all the same
        if value is None or other is None:
            assert value in (other, ZERO_UUID)
        elif field.type.struct is not None:
            assert_same(value, other, version)
        elif field.type.element is not None and field.type.element.struct is not None:
            for item, other_item in zip(value, other, strict=True):
                assert_same(item, other_item, version)
        else:
            assert value == plain(other), field.name


def plain(value: Any) -> Any:
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.bytes if isinstance(value, uuid.UUID) else value
