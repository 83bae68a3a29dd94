"""The rest of the API: deletion, settings, contexts, ids and guids, listings, and requests that make no sense."""

import json
from typing import Any

import pytest

from tests.support.registry_api import RegistryApi, optional, record

V1, V2 = record("R", "a"), record("R", "a", optional("b"))
ODD = "a%2Fb%25%20c"
"""a/b% c"""


@pytest.fixture
def api() -> RegistryApi:
    return RegistryApi()


async def test_a_version_is_marked_as_deleted_before_it_is_deleted_for_good(api: RegistryApi) -> None:
    await api.register("s", V1)
    await api.register("s", V2)
    one = "/subjects/s/versions/1"
    assert await api.refusal("DELETE", f"{one}?permanent=true") == (
        40407,
        "Subject 's' Version 1 was not deleted first before being permanently deleted",
    )
    assert await api.done("DELETE", one) == 1
    assert (await api.refusal("DELETE", one))[0] == 40406
    assert await api.refusal("GET", one) == (40402, "Version 1 not found.")
    assert (await api.done("GET", f"{one}?deleted=true"))["deleted"] is True
    assert await api.done("GET", "/subjects/s/versions") == [2]
    assert await api.done("GET", "/subjects/s/versions?deleted=true") == [1, 2]
    assert await api.done("GET", "/subjects/s/versions?deletedOnly=true") == [1]
    assert await api.done("GET", "/subjects/s/versions?deletedAsNegative=true") == [-1, 2]
    assert await api.done("DELETE", f"{one}?permanent=true") == 1
    assert await api.done("GET", "/subjects/s/versions?deleted=true") == [2]
    assert (await api.refusal("GET", "/schemas/ids/1")) == (40403, "Schema 1 not found")
    assert (await api.register("s", V1))["version"] == 3


async def test_a_subject_is_marked_as_deleted_before_it_is_deleted_for_good(api: RegistryApi) -> None:
    assert (await api.refusal("DELETE", "/subjects/s")) == (40401, "Subject 's' not found.")
    await api.register("s", V1)
    await api.register("s", V2)
    await api.done("PUT", "/config/s", {"compatibility": "FULL"})
    assert (await api.refusal("DELETE", "/subjects/s?permanent=true"))[0] == 40405
    assert await api.done("DELETE", "/subjects/s") == [1, 2]
    assert (await api.refusal("DELETE", "/subjects/s"))[0] == 40404
    assert await api.done("GET", "/subjects") == []
    assert await api.done("GET", "/subjects?deleted=true") == ["s"]
    assert await api.done("GET", "/subjects?deletedOnly=true") == ["s"]
    assert (await api.register("s", V1))["version"] == 3
    assert await api.done("GET", "/subjects/s/versions?deleted=true") == [2, 3]
    await api.done("DELETE", "/subjects/s")
    assert await api.done("DELETE", "/subjects/s?permanent=true") == [2, 3]
    assert (await api.refusal("GET", "/config/s"))[0] == 40408
    assert (await api.register("s", V2))["version"] == 1


async def test_a_configuration_is_changed_field_by_field_and_removed(api: RegistryApi) -> None:
    assert await api.done("GET", "/config") == {"compatibilityLevel": "BACKWARD"}
    assert await api.done("PUT", "/config", {"compatibility": "full"}) == {"compatibility": "FULL"}
    assert (await api.refusal("GET", "/config/s")) == (
        40408,
        "Subject 's' does not have subject-level compatibility configured",
    )
    assert await api.done("GET", "/config/s?defaultToGlobal=true") == {"compatibilityLevel": "FULL"}
    changed = await api.done("PUT", "/config/s", {"compatibility": "NONE", "normalize": True})
    assert changed == {"normalize": True, "compatibility": "NONE"}
    assert await api.done("PUT", "/config/s", {"normalize": None}) == {"compatibility": "NONE"}
    assert await api.done("DELETE", "/config/s") == {"compatibilityLevel": "NONE"}
    assert (await api.refusal("DELETE", "/config/s"))[0] == 40401
    assert await api.done("DELETE", "/config") == {"compatibilityLevel": "FULL"}
    assert await api.done("GET", "/config") == {"compatibilityLevel": "BACKWARD"}
    assert (await api.refusal("PUT", "/config", {"compatibility": "SOME"}))[0] == 42203


async def test_a_mode_decides_what_is_allowed(api: RegistryApi) -> None:
    assert await api.done("GET", "/mode") == {"mode": "READWRITE"}
    assert (await api.refusal("GET", "/mode/s"))[0] == 40409
    await api.register("s", V1)
    assert await api.done("PUT", "/mode/s", {"mode": "READONLY"}) == {"mode": "READONLY"}
    for method, path, body in (
        ("POST", "/subjects/s/versions", {"schema": json.dumps(V2)}),
        ("DELETE", "/subjects/s", None),
        ("DELETE", "/subjects/s/versions/1", None),
        ("PUT", "/config/s", {"compatibility": "NONE"}),
    ):
        assert await api.refusal(method, path, body) == (42205, "Subject s in context  is in read-only mode")
    assert (await api.register("s", V1))["version"] == 1
    assert await api.done("DELETE", "/mode/s") == {"mode": "READONLY"}
    assert (await api.refusal("PUT", "/mode", {"mode": "ODD"}))[0] == 42204
    assert await api.refusal("PUT", "/mode", {"mode": "IMPORT"}) == (
        42205,
        "Cannot import since found existing subjects",
    )
    assert await api.done("PUT", "/mode?force=true", {"mode": "IMPORT"}) == {"mode": "IMPORT"}


async def test_import_begins_with_nothing_that_was_deleted(api: RegistryApi) -> None:
    await api.register("s", V1)
    await api.done("DELETE", "/subjects/s")
    await api.done("PUT", "/mode", {"mode": "IMPORT"})
    assert await api.done("GET", "/subjects?deleted=true") == []
    imported = await api.done("POST", "/subjects/t/versions", {"schema": json.dumps(V2), "id": 1, "version": 9})
    assert (imported["id"], imported["version"]) == (1, 9)


async def test_contexts_have_subjects_and_ids_of_their_own(api: RegistryApi) -> None:
    await api.register("s", V1)
    assert (await api.register(":.c:s", V2))["id"] == 1
    assert await api.done("GET", "/contexts") == [".", ".c"]
    assert await api.done("GET", "/subjects") == [":.c:s", "s"]
    assert await api.done("GET", "/subjects?subjectPrefix=") == ["s"]
    assert await api.done("GET", "/subjects?subjectPrefix=:.c:") == [":.c:s"]
    assert await api.done("GET", "/subjects?subjectPrefix=:*:s") == [":.c:s", "s"]
    assert await api.done("GET", "/contexts/.c/subjects") == [":.c:s"]
    assert await api.done("GET", "/contexts/c/subjects/s/versions") == [1]
    assert await api.done("GET", "/contexts/c/schemas/ids/1/schema") == V2
    assert json.loads((await api.done("GET", "/schemas/ids/1"))["schema"]) == V1
    assert json.loads((await api.done("GET", "/schemas/ids/1?subject=:.c:"))["schema"]) == V2
    await api.done("PUT", "/contexts/c/config", {"compatibility": "NONE"})
    assert await api.done("GET", "/config/:.c:") == {"compatibilityLevel": "NONE"}
    assert (await api.refusal("DELETE", "/contexts/c"))[0] == 42211
    await api.done("DELETE", "/subjects/:.c:s")
    await api.done("DELETE", "/subjects/:.c:s?permanent=true")
    await api.done("DELETE", "/contexts/c")
    assert await api.done("GET", "/contexts") == ["."]
    assert (await api.refusal("GET", "/contexts/a:b/subjects"))[0] == 400


async def test_a_subject_without_a_context_is_found_in_another_one(api: RegistryApi) -> None:
    await api.register(":.c:s", V1)
    assert (await api.done("GET", "/subjects/s/versions/1"))["subject"] == ":.c:s"
    assert (await api.done("POST", "/subjects/s", {"schema": json.dumps(V1)}))["subject"] == ":.c:s"


async def test_an_alias_stands_for_a_subject(api: RegistryApi) -> None:
    await api.register("s", V1)
    await api.done("PUT", "/config/short", {"alias": "s"})
    assert (await api.done("GET", "/subjects/short/versions/1"))["subject"] == "s"
    listed = await api.done("GET", "/schemas?subjectPrefix=sho&aliases=true")
    assert [(each["subject"], each["aliases"]) for each in listed] == [("s", ["short"])]


async def test_a_schema_is_found_by_its_guid(api: RegistryApi) -> None:
    guid = (await api.register("s", V1))["guid"]
    await api.register(":.c:s", V1)
    found = await api.done("GET", f"/schemas/guids/{guid}")
    assert json.loads(found["schema"]) == V1
    assert "subject" not in found
    assert await api.done("GET", f"/schemas/guids/{guid}/ids") == [
        {"context": ".", "id": 1},
        {"context": ".c", "id": 1},
    ]
    assert await api.refusal("GET", "/schemas/guids/none") == (40403, "Schema none not found")


async def test_schemas_are_listed_by_prefix(api: RegistryApi) -> None:
    for subject, schema in (("a", V1), ("a", V2), ("b", V1), (":.c:a", V1)):
        await api.register(subject, schema)

    async def listed(query: str) -> list[tuple[str, int]]:
        return [(each["subject"], each["version"]) for each in await api.done("GET", f"/schemas?{query}")]

    assert await listed("") == [("a", 1), ("a", 2), ("b", 1)]
    assert await listed("latestOnly=true") == [("a", 2), ("b", 1)]
    assert await listed("offset=1&limit=1") == [("a", 2)]
    assert await listed("subjectPrefix=:*:a&latestOnly=true") == [(":.c:a", 1), ("a", 2)]
    await api.done("DELETE", "/subjects/b")
    assert await listed("subjectPrefix=b") == []
    assert await listed("subjectPrefix=b&deleted=true") == [("b", 1)]


async def test_many_schemas_are_listed_in_several_turns(api: RegistryApi) -> None:
    for number in range(600):
        key = {"keytype": "SCHEMA", "subject": f"s{number:03}", "version": 1, "magic": 1}
        value = {"subject": f"s{number:03}", "version": 1, "id": number + 1, "schema": f'"{number}"'}
        api.log.records.append((json.dumps(key).encode(), json.dumps(value).encode()))
    listed = await api.done("GET", "/schemas?offset=100")
    assert [each["id"] for each in listed] == list(range(101, 601))
    assert api.pauses == 7


async def test_an_id_has_a_schema_with_its_largest_id(api: RegistryApi) -> None:
    await api.register("s", V1)
    await api.register("s", V2)
    found = await api.done("GET", "/schemas/ids/1?fetchMaxId=true")
    assert (found["subject"], found["version"], found["maxId"], found["schemaType"]) == ("s", 1, 2, "AVRO")
    assert await api.done("GET", "/schemas/ids/1/subjects") == ["s"]
    assert await api.refusal("GET", "/schemas/ids/9/subjects") == (40403, "Schema not found")
    assert await api.done("GET", "/subjects/s/versions/latest/schema") == V2


async def test_a_subject_may_have_slashes_and_percent_signs(api: RegistryApi) -> None:
    await api.register(ODD, V1)
    assert await api.done("GET", "/subjects") == ["a/b% c"]
    assert (await api.done("GET", f"/subjects/{ODD}/versions/latest"))["subject"] == "a/b% c"
    await api.done("PUT", f"/config/{ODD}", {"compatibility": "NONE"})
    assert await api.done("DELETE", f"/subjects/{ODD}") == [1]
    assert (await api.refusal("POST", "/subjects/a%0Ab/versions", {"schema": '"string"'}))[0] == 42208


@pytest.mark.parametrize(
    ("target", "methods"),
    [("/schemas/types", ["GET", "HEAD"]), ("/subjects/s/versions", ["GET", "HEAD", "POST"]), ("/none", [])],
)
async def test_a_refused_method_is_answered_with_those_that_the_path_has(
    api: RegistryApi, target: str, methods: list[str]
) -> None:
    assert list((await api.ask("PATCH", target)).methods) == methods


async def test_head_is_answered_like_get(api: RegistryApi) -> None:
    assert await api.ask("HEAD", "/schemas/types") == await api.ask("GET", "/schemas/types")


@pytest.mark.parametrize(
    ("method", "target", "body", "headers", "status", "message"),
    [
        ("GET", "/none", None, {}, 404, "HTTP 404 Not Found"),
        ("GET", "/exporters", None, {}, 404, "HTTP 404 Not Found"),
        ("GET", "/schemas/ids/x", None, {}, 404, "HTTP 404 Not Found"),
        ("GET", "/subjects?limit=x", None, {}, 404, "HTTP 404 Not Found"),
        ("DELETE", "/schemas/types", None, {}, 405, "HTTP 405 Method Not Allowed"),
        ("GET", "/subjects", None, {"accept": "text/html"}, 406, "HTTP 406 Not Acceptable"),
        ("PUT", "/config", b"{}", {"content_type": "text/plain"}, 415, "HTTP 415 Unsupported Media Type"),
        ("PUT", "/config", b"{", {}, 400, "Invalid JSON: "),
        ("PUT", "/config", b"[" * 100_000, {}, 400, "Invalid JSON: it is nested too deep"),
        ("PUT", "/config", b"[]", {}, 400, "Invalid JSON: it is not an object"),
        ("PUT", "/config", b"null", {}, 422, "The request body must not be null"),
        ("PUT", "/config", b"", {}, 422, "The request body must not be empty"),
        ("POST", "/subjects/s/versions", b'{"schema":"\\ud800"}', {}, 400, "Invalid JSON: "),
        ("POST", "/subjects/s/versions", b'{"schema":[]}', {}, 400, "Invalid JSON: schema is not a string"),
        ("POST", "/subjects/s/versions", b'{"schema":"1","id":"x"}', {}, 400, "Invalid JSON: id is not a number"),
        ("GET", "/subjects/s/versions/0", None, {}, 42202, "The specified version '0' is not a valid version id."),
        ("GET", "/subjects/s/versions/x", None, {}, 42202, "The specified version 'x' is not a valid version id."),
        ("GET", "/subjects/s/versions/1", None, {}, 40401, "Subject 's' not found."),
        ("POST", "/compatibility/subjects/s/versions/1", b'{"schema":"1"}', {}, 40402, "Version 1 not found."),
    ],
)
async def test_a_request_that_makes_no_sense_is_refused(
    api: RegistryApi, method: str, target: str, body: Any, headers: dict[str, str], status: int, message: str
) -> None:
    answered = await api.ask(method, target, body, **headers)
    assert answered.status == int(str(status)[:3])
    assert answered.body["error_code"] == status
    assert answered.body["message"].startswith(message)


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("", "application/vnd.schemaregistry.v1+json"),
        ("*/*", "application/vnd.schemaregistry.v1+json"),
        ("application/json", "application/json"),
        ("application/vnd.schemaregistry+json, application/json; q=0.9", "application/vnd.schemaregistry+json"),
        ("text/html, application/*;q=0.1", "application/vnd.schemaregistry.v1+json"),
    ],
)
async def test_the_answer_has_the_type_that_is_accepted(api: RegistryApi, accept: str, content_type: str) -> None:
    answered = await api.ask("GET", "/schemas/types", **({"accept": accept} if accept else {}))
    assert (answered.content_type, answered.body) == (content_type, ["JSON", "PROTOBUF", "AVRO"])


async def test_the_registry_tells_where_it_is(api: RegistryApi) -> None:
    assert await api.done("GET", "/") == {}
    found = await api.done("GET", "/v1/metadata/id")
    assert found["scope"]["clusters"] == {"kafka-cluster": "cluster", "schema-registry-cluster": "schema-registry"}
    assert (await api.done("GET", "/v1/metadata/version"))["commitId"] == "barnabas"
    assert api.application.requests == {200: 3}
