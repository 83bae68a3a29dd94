"""Changes of schemas are taken and refused as independent implementations do, all pairs of a family with each other.

For Avro that is Avro's own library, down to the names and places of what is wrong. For JSON Schema and Protobuf it is
Apicurio, whose rules are others than Confluent's; where they differ, Confluent's are right here, as its clients expect
them. DIFFERENCES has the reason for each.
"""

from collections import Counter

import pytest

from barnabas.registry.schemas.languages import parse
from barnabas.registry.schemas.parsed_schema import Incompatibility
from tests.support.kafka.schema_pairs import SchemaPair, answers, pairs

# By language, family, and what Apicurio does where ours does the opposite: how many pairs, and why ours is right.
DIFFERENCES = {
    ("JSON", "open objects", "refuses"): (6, "a default stands for a required property, and {} takes any"),
    ("JSON", "closed objects", "refuses"): (3, "a pattern lets in more than nothing"),
    ("JSON", "numbers", "takes"): (2, "keywords are compared one by one: a limit by another keyword is one more limit"),
    ("JSON", "enums", "takes"): (
        10,
        "a const is one value: it refuses the others of an enum, and those of another const",
    ),
    ("JSON", "combined", "refuses"): (4, "a union takes what one of its branches took"),
    ("JSON", "combined", "takes"): (6, "an object is neither a string nor an integer"),
    ("PROTOBUF", "fields", "refuses"): (61, "numbers count and names do not; Apicurio's rules are protolock's"),
    ("PROTOBUF", "scalars", "refuses"): (24, "both scalars are encoded alike"),
    ("PROTOBUF", "repeated numbers", "refuses"): (8, "a label counts where both have one"),
    ("PROTOBUF", "oneofs", "takes"): (6, "fields that could be set together cannot any more"),
    ("PROTOBUF", "oneofs", "refuses"): (6, "all fields of a oneof may be removed with it"),
    ("PROTOBUF", "packages", "takes"): (6, "another package is another type"),
    ("PROTOBUF", "enums", "refuses"): (19, "an enum is encoded as a number, and its constants' names are not"),
    ("PROTOBUF", "maps", "refuses"): (2, "values of a map change as fields do"),
    ("PROTOBUF", "proto2", "refuses"): (7, "only what is required may not be removed; a string may get another label"),
}


def _reasons(language: str, pair: SchemaPair) -> list[Incompatibility]:
    return list(parse(language, pair.update).incompatibilities(parse(language, pair.original)))


def _detail(reason: Incompatibility) -> str:
    return reason.message.partition("additionalInfo:'")[2].removesuffix("'}")


def test_avro_schemas_are_compatible_as_in_java() -> None:
    recorded, seen = answers("AVRO"), 0
    for pair in pairs("AVRO"):
        ours = [f"{each.kind} {each.path} {_detail(each)}" for each in _reasons("AVRO", pair)]
        assert ours == recorded[pair.family][pair.name], pair
        seen += 1
    assert seen >= 500


@pytest.mark.parametrize("language", ["JSON", "PROTOBUF"])
def test_other_schemas_are_compatible_as_in_apicurio_but_for_what_is_known(language: str) -> None:
    recorded, seen = answers(language), 0
    differences: Counter[tuple[str, str, str]] = Counter()
    for pair in pairs(language):
        theirs = recorded[pair.family][pair.name]
        if theirs is not (not _reasons(language, pair)):
            differences[language, pair.family, "takes" if theirs else "refuses"] += 1
        seen += 1
    assert differences == {key: count for key, (count, _) in DIFFERENCES.items() if key[0] == language}
    assert seen >= 400
