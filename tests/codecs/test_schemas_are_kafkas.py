"""Our schemas against the definitions in Kafka's own jars: field by field, version by version.

Where a range says more than can happen (a nested field that is "4+" inside a struct that is "4+" itself), only the
versions in which the struct is on the wire are compared.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from barnabas.protocol.codec.schema import MISSING, Field, Struct, VersionRange
from barnabas.protocol.primitives import ZERO_UUID
from barnabas.protocol.registry import ApiKey, spec
from tests.support.kafka.definitions import broker_apis, definitions
from tests.support.records.messages import our_messages, our_stored

ZEROS = {"string": "", "bytes": b"", "bool": False, "float64": 0.0, "uuid": ZERO_UUID, "records": None}


class Fact(NamedTuple):
    """All there is to say about one field in one version."""

    path: str
    type: str
    tag: int | None
    nullable: bool
    default: Any
    ignorable: bool


def kafka_facts(definition: dict[str, Any], fields: list[dict[str, Any]], version: int, path: str) -> Iterator[Fact]:
    common = {struct["name"]: struct["fields"] for struct in definition.get("commonStructs", ())}
    for field in fields:
        tagged = VersionRange.parse(field.get("taggedVersions", "none"))
        present = VersionRange.parse(field["versions"]) if "versions" in field else tagged
        here = f"{path}.{snake_case(field['name'])}"
        element = field["type"].removeprefix("[]")
        is_struct = element[0].isupper()
        if not present.includes(version):
            ignorable = bool(field.get("ignorable", False))
            yield Fact(here, "absent", None, False, kafka_default(field, is_struct), ignorable)
            continue
        yield Fact(
            here,
            field["type"].replace(element, "struct") if is_struct else field["type"],
            field["tag"] if tagged.includes(version) else None,
            VersionRange.parse(field.get("nullableVersions", "none")).includes(version),
            kafka_default(field, is_struct),
            False,
        )
        if is_struct:
            yield from kafka_facts(definition, field.get("fields") or common[element], version, here)


def kafka_default(field: dict[str, Any], is_struct: bool) -> Any:
    kind, text = field["type"], field.get("default")
    if text == "null":  # JSON's null says nothing at all
        return None
    if kind.startswith("[]"):
        return []
    if is_struct:
        return "struct"
    if text in ("", None):
        return ZEROS.get(kind, 0)
    if kind == "bool":
        return str(text).lower() == "true"
    return text if kind == "string" else float(text) if kind == "float64" else int(str(text), 0)


def our_facts(struct: type[Struct], version: int, path: str) -> Iterator[Fact]:
    for field in struct.__schema__.fields:
        here = f"{path}.{field.name}"
        if not field.in_version(version):
            yield Fact(here, "absent", None, False, our_default(field), field.ignorable)
            continue
        element = field.type.element or field.type
        kind = "struct" if element.struct else element.name
        yield Fact(
            here,
            "[]" + kind if field.type.element else kind,
            field.tag if field.tagged_in(version) else None,
            field.nullable_in(version),
            our_default(field),
            False,
        )
        if element.struct:
            yield from our_facts(element.struct, version, here)


def our_default(field: Field) -> Any:
    if field.type.struct is not None and (field.default is MISSING or field.may_be_unset):
        return "struct"
    return field.default_value()


def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


@pytest.mark.parametrize("struct", [*our_messages(), *our_stored()], ids=lambda struct: struct.__name__)
def test_schema_equals_kafkas_definition(struct: type[Struct]) -> None:
    definition = definitions()[struct.__name__]
    schema = struct.__schema__
    assert schema.versions == definition["validVersions"]
    assert schema.flexible == definition["flexibleVersions"]
    assert schema.key == definition.get("apiKey")
    for version in schema.valid_versions:
        ours = list(our_facts(struct, version, struct.__name__))
        assert ours == list(kafka_facts(definition, definition["fields"], version, struct.__name__)), version


def test_the_registry_has_exactly_the_apis_of_kafkas_broker_listener() -> None:
    ours = {int(key): (spec(key).request.__name__, spec(key).response.__name__) for key in ApiKey}
    assert ours == broker_apis()


@pytest.mark.parametrize("key", ApiKey, ids=lambda key: key.api_name)
def test_the_registry_leaves_out_the_unstable_version(key: ApiKey) -> None:
    definition = definitions()[spec(key).request.__name__]
    low, high = VersionRange.parse(definition["validVersions"])
    stable = high - 1 if definition.get("latestVersionUnstable") else high
    assert (key.min_version, key.max_version) == (low, stable)
    flexible = VersionRange.parse(definition["flexibleVersions"])
    assert [key.is_flexible(version) for version in range(stable + 1)] == [
        flexible.includes(version) for version in range(stable + 1)
    ]


def test_every_record_of_the_coordinators_and_the_catalogue_is_there() -> None:
    ours = {struct.__name__ for struct in our_stored()}
    kafkas = {
        name
        for name, definition in definitions().items()
        if definition["type"] in ("metadata", "coordinator-key", "coordinator-value")
    }
    assert kafkas <= ours
