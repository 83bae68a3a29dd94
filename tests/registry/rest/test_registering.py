"""Schemas are registered, looked up and refused, as Confluent's registry does it."""

import json
from typing import Any

import pytest

from tests.support.registry_api import MemoryLog, RegistryApi, optional, record

V1, V2 = record("R", "a"), record("R", "a", optional("b"))
INCOMPATIBLE = record("R", "a", "b")


@pytest.fixture
def api() -> RegistryApi:
    return RegistryApi()


async def test_a_schema_has_one_id_in_all_subjects_and_a_version_in_each(api: RegistryApi) -> None:
    first = await api.register("s", V1)
    assert (first["id"], first["version"], first["schemaType"]) == (1, 1, "AVRO")
    assert await api.register("s", V1) == first
    assert len(api.log.records) == 1
    assert (await api.register("s", V2))["id"] == 2
    assert [(await api.register("other", each))["id"] for each in (V2, V1)] == [2, 1]
    assert await api.done("GET", "/subjects") == ["other", "s"]
    assert await api.done("GET", "/schemas/ids/1/versions") == [
        {"subject": "s", "version": 1},
        {"subject": "other", "version": 2},
    ]


async def test_an_incompatible_schema_is_refused_with_the_reason(api: RegistryApi) -> None:
    await api.register("s", V1)
    body = {"schema": json.dumps(INCOMPATIBLE)}
    code, message = await api.refusal("POST", "/subjects/s/versions", body)
    assert code == 40901
    assert message.startswith(
        'Schema being registered is incompatible with an earlier schema for subject "s", details: ['
    )
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in message
    assert "{oldSchemaVersion: 1}" in message
    assert message.endswith("{validateFields: 'false', compatibility: 'BACKWARD'}]")
    path = "/compatibility/subjects/s/versions/latest"
    assert await api.done("POST", path, body) == {"is_compatible": False}
    verbose = await api.done("POST", f"{path}?verbose=true", body)
    assert f"[{', '.join(verbose['messages'])}]" in message
    await api.done("PUT", "/config/s", {"compatibility": "NONE"})
    assert (await api.register("s", INCOMPATIBLE))["version"] == 2


@pytest.mark.parametrize(
    ("level", "is_compatible"),
    [
        ("NONE", [True, True, True]),
        ("BACKWARD", [True, False, True]),
        ("BACKWARD_TRANSITIVE", [True, False, False]),
        ("FORWARD", [True, True, True]),
        ("FORWARD_TRANSITIVE", [True, True, True]),
        ("FULL", [True, False, True]),
        ("FULL_TRANSITIVE", [True, False, False]),
    ],
)
async def test_a_level_decides_with_which_versions_a_schema_is_compared(
    api: RegistryApi, level: str, is_compatible: list[bool]
) -> None:
    """The last of three schemas reads the second version, and not the first, which has no field c."""
    await api.done("PUT", "/config/s", {"compatibility": "NONE"})
    await api.register("s", V1)
    await api.register("s", record("R", "a", "c"))
    await api.done("PUT", "/config/s", {"compatibility": level})
    schemas = [record("R", "a", optional("c")), record("R", "a", "c", "d"), record("R", "a", "c", optional("d"))]
    found = [
        (await api.done("POST", "/compatibility/subjects/s/versions", {"schema": json.dumps(each)}))["is_compatible"]
        for each in schemas
    ]
    assert found == is_compatible


async def test_the_policy_lenient_lets_an_open_json_schema_get_a_property(api: RegistryApi) -> None:
    def body(*names: str) -> dict[str, str]:
        properties = {name: {"type": "string"} for name in names}
        return {"schemaType": "JSON", "schema": json.dumps({"type": "object", "properties": properties})}

    await api.done("POST", "/subjects/s/versions", body("a"))
    _, message = await api.refusal("POST", "/subjects/s/versions", body("a", "b"))
    assert "PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL" in message
    await api.done("PUT", "/config", {"compatibility": "FULL", "compatibilityPolicy": "lenient"})
    assert (await api.done("POST", "/subjects/s/versions", body("a", "b")))["version"] == 2
    changed = {"schemaType": "JSON", "schema": '{"type":"string"}'}
    assert "TYPE_CHANGED" in (await api.refusal("POST", "/subjects/s/versions", changed))[1]


async def test_only_versions_of_the_same_group_are_compared(api: RegistryApi) -> None:
    await api.done("PUT", "/config/s", {"compatibilityGroup": "major"})
    await api.register("s", V1, metadata={"properties": {"major": "1"}})
    second = await api.register("s", INCOMPATIBLE, metadata={"properties": {"major": "2"}})
    assert second["version"] == 2
    code, _ = await api.refusal(
        "POST",
        "/subjects/s/versions",
        {"schema": json.dumps(INCOMPATIBLE | {"doc": "x"}), "metadata": {"properties": {"major": "1"}}},
    )
    assert code == 40901


async def test_metadata_and_rules_come_from_the_version_before_and_the_configuration(api: RegistryApi) -> None:
    rules = {"domainRules": [{"name": "r", "type": "CEL", "kind": "CONDITION", "mode": "WRITE", "expr": "x"}]}
    await api.register("s", V1, metadata={"properties": {"owner": "x"}}, ruleSet=rules)
    second = await api.register("s", V2)
    assert second["metadata"] == {"properties": {"owner": "x"}}
    assert second["ruleSet"]["domainRules"][0]["name"] == "r"
    await api.done(
        "PUT",
        "/config/s",
        {
            "defaultMetadata": {"properties": {"owner": "nobody", "cost": "1"}},
            "overrideMetadata": {"properties": {"cost": "2"}},
        },
    )
    third = await api.register("s", record("R", "a", optional("b"), optional("c")))
    assert third["metadata"] == {"properties": {"cost": "2", "owner": "x"}}
    found = await api.done("GET", "/subjects/s/metadata?key=cost&value=2")
    assert (found["version"], found["metadata"]) == (3, third["metadata"])


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"type": "CEL"}, "Missing rule name"),
        ({"name": "a b", "type": "CEL"}, "Illegal character in rule name: a b"),
        ({"name": "r"}, "Missing rule type"),
        ({"name": "r", "type": "CEL", "mode": "UPGRADE"}, "Domain rules can only be WRITE, READ, WRITEREAD"),
    ],
)
async def test_a_rule_with_a_mistake_is_refused(api: RegistryApi, rule: dict[str, str], message: str) -> None:
    body = {"schema": '"string"', "ruleSet": {"domainRules": [rule]}}
    assert await api.refusal("POST", "/subjects/s/versions", body) == (42210, message)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"schema": "{"}, "Invalid schema of type AVRO, details: "),
        ({"schema": ""}, "Empty schema"),
        ({}, "Empty schema"),
        ({"schema": '"string"', "schemaType": "XSD"}, "Invalid schema type XSD"),
        (
            {"schema": '"string"', "references": [{"name": "n", "subject": "none", "version": 1}]},
            'Invalid schema of type AVRO, details: No schema reference found for subject "none" and version 1',
        ),
        ({"schema": '{"type":"array","items":' * 5_000}, "Invalid schema of type AVRO, details: "),
    ],
)
async def test_an_invalid_schema_is_refused(api: RegistryApi, body: dict[str, Any], message: str) -> None:
    code, found = await api.refusal("POST", "/subjects/s/versions", body)
    assert code == 42201
    assert found.startswith(message)
    assert not api.log.records


async def test_a_lookup_finds_the_version_of_the_subject(api: RegistryApi) -> None:
    body = {"schema": json.dumps(V1, indent=1)}
    assert await api.refusal("POST", "/subjects/s", body) == (40401, "Subject 's' not found.")
    await api.register("s", V2)
    assert await api.refusal("POST", "/subjects/s", body) == (40403, "Schema not found")
    await api.register("s", V1)
    found = await api.done("POST", "/subjects/s", body)
    assert (found["subject"], found["version"], found["id"]) == ("s", 2, 2)
    await api.done("DELETE", "/subjects/s/versions/2")
    assert await api.refusal("POST", "/subjects/s", body) == (40403, "Schema not found")
    assert (await api.done("POST", "/subjects/s?deleted=true", body))["version"] == 2


async def test_an_id_and_a_version_are_only_given_where_schemas_are_imported(api: RegistryApi) -> None:
    body = {"schema": json.dumps(V1), "id": 100, "version": 5}
    refused = await api.refusal("POST", "/subjects/s/versions", body)
    assert refused == (42205, "Subject s in context  is not in import mode")
    await api.done("PUT", "/mode/s", {"mode": "IMPORT"})
    assert (await api.done("POST", "/subjects/s/versions", body))["id"] == 100
    assert await api.done("GET", "/subjects/s/versions") == [5]
    overwritten = await api.refusal("POST", "/subjects/s/versions", body | {"schema": json.dumps(V2), "version": 6})
    assert overwritten == (42205, "Overwrite new schema with id 100 in context  is not permitted.")
    await api.done("PUT", "/mode/s", {"mode": "READWRITE"})
    assert {key: each for key, each in (await api.register("s", V2)).items() if key in ("id", "version")} == {
        "id": 101,
        "version": 6,
    }


async def test_references_are_resolved_and_keep_what_they_refer_to(api: RegistryApi) -> None:
    await api.register("a", record("A", "x"))
    holder = {"type": "record", "name": "B", "fields": [{"name": "a", "type": "A"}]}
    reference = {"name": "A", "subject": "a", "version": -1}
    registered = await api.register("b", holder, references=[reference])
    assert registered["references"] == [{"name": "A", "subject": "a", "version": 1}]
    assert await api.done("GET", "/subjects/a/versions/1/referencedby") == [registered["id"]]
    code, message = await api.refusal("DELETE", "/subjects/a/versions/1")
    assert (code, message) == (
        42206,
        "One or more references exist to the schema {magic=1,keytype=SCHEMA,subject=a,version=1}.",
    )
    assert (await api.refusal("DELETE", "/subjects/a"))[0] == 42206
    await api.done("DELETE", "/subjects/b")
    assert await api.done("DELETE", "/subjects/a") == [1]


async def test_references_in_a_circle_are_refused(api: RegistryApi) -> None:
    for subject, other in (("a", "b"), ("b", "a")):
        key = {"keytype": "SCHEMA", "subject": subject, "version": 1, "magic": 1}
        value = {
            "subject": subject,
            "version": 1,
            "id": 1 if subject == "a" else 2,
            "references": [{"name": other, "subject": other, "version": 1}],
            "schema": json.dumps(record(subject)),
        }
        api.log.records.append((json.dumps(key).encode(), json.dumps(value).encode()))
    code, message = await api.refusal(
        "POST",
        "/subjects/c/versions",
        {"schema": '"string"', "references": [{"name": "a", "subject": "a", "version": 1}]},
    )
    assert (code, message) == (42201, "Invalid schema of type AVRO, details: a version 1 refers to itself")


async def test_a_large_schema_is_parsed_in_a_thread(api: RegistryApi) -> None:
    large = record("R", *(f"f{number}" for number in range(1_000)))
    await api.register("s", large)
    assert api.threads
    api.threads = 0
    assert (await api.register("small", V1))["id"] == 2
    assert not api.threads


async def test_a_schema_that_does_not_fit_into_a_record_is_refused(api: RegistryApi) -> None:
    api.log.record_bytes_max = 100
    refused = await api.refusal("POST", "/subjects/s/versions", {"schema": json.dumps(V1)})
    assert refused == (42209, "Register operation failed because schema is too large")
    assert await api.done("GET", "/subjects") == []


async def test_a_failure_to_write_changes_nothing(api: RegistryApi) -> None:
    api.log.failure = "the disk is full"
    code, _ = await api.refusal("POST", "/subjects/s/versions", {"schema": json.dumps(V1)})
    assert code == 50001
    assert await api.done("GET", "/subjects") == []


async def test_another_registry_goes_on_with_the_log_and_sees_what_others_append() -> None:
    log = MemoryLog()
    first = RegistryApi(log)
    await first.register("s", V1)
    await first.done("PUT", "/config/s", {"compatibility": "NONE"})
    second = RegistryApi()
    second.log.records = list(log.records)
    assert (await second.register("s", INCOMPATIBLE))["id"] == 2
    first.log.records += second.log.records[2:]
    assert await first.done("GET", "/subjects/s/versions") == [1, 2]
