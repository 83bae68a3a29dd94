"""/schemas: by id, by guid, by the prefix of their subjects, and the types of schemas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.registry.decisions.errors import schema_not_found
from barnabas.registry.rest.api_request import ApiRequest
from barnabas.registry.rest.filters import is_shown, prefix_test
from barnabas.registry.rest.resource import ApiRoute
from barnabas.registry.rest.schema_json import guid_json, id_json, version_json
from barnabas.registry.schema_registry import SchemaRegistry
from barnabas.registry.state.plain_json import json_bytes
from barnabas.registry.state.qualified_subject import (
    DEFAULT_CONTEXT,
    QualifiedSubject,
    normalized,
    qualified,
    qualified_within,
)
from barnabas.registry.state.registry_state import RegistryState
from barnabas.registry.state.rule_sets import has_rules_of_type
from barnabas.registry.state.stored_schema import SCHEMA_TYPES, StoredSchema, fingerprint_of_guid

_SCHEMAS_MAX = 1_000
"""How many schemas one answer has at most, as in Confluent's registry."""
_SUBJECTS_A_TURN, _SCHEMAS_A_TURN = 500, 100
"""How many are looked at, and shown, in a turn of the event loop."""


class Schemas:
    """The operations of /schemas."""

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry
        self.routes = [
            ApiRoute("GET", "/schemas", self._list),
            ApiRoute("GET", "/schemas/types", self._types),
            ApiRoute("GET", "/schemas/ids/{id}", self._by_id),
            ApiRoute("GET", "/schemas/ids/{id}/schema", self._text_of_id),
            ApiRoute("GET", "/schemas/ids/{id}/subjects", self._subjects_of_id),
            ApiRoute("GET", "/schemas/ids/{id}/versions", self._versions_of_id),
            ApiRoute("GET", "/schemas/guids/{guid}", self._by_guid),
            ApiRoute("GET", "/schemas/guids/{guid}/ids", self._ids_of_guid),
        ]

    async def _types(self, request: ApiRequest) -> Any:
        return list(SCHEMA_TYPES)

    async def _list(self, request: ApiRequest) -> Any:
        state, rule_type = await self._registry.current(), request.text("ruleType")
        has_prefix = prefix_test(request.text("subjectPrefix"))
        aliases = _aliases(state, has_prefix) if request.flag("aliases") else {}
        names = sorted(name for name, _ in state.subjects() if has_prefix(name) or name in aliases)
        left, limit = request.window(_SCHEMAS_MAX)
        shown: list[bytes] = []
        for count, name in enumerate(names):
            if count % _SUBJECTS_A_TURN == 0:
                await self._registry.pause()
            for schema in _shown_versions(state, name, request):
                if rule_type and not has_rules_of_type(schema.content.rule_set, rule_type):
                    continue
                left -= 1
                if left < 0 and len(shown) < limit:
                    further = {"aliases": aliases[name]} if name in aliases else {}
                    shown.append(json_bytes(version_json(schema) | further))
                    if len(shown) % _SCHEMAS_A_TURN == 0:
                        await self._registry.pause()
            if len(shown) >= limit:
                break
        return b"[" + b",".join(shown) + b"]"

    async def _by_id(self, request: ApiRequest) -> Any:
        schema = await self._schema_of_id(request, request.schema_id)
        text = await self._registry.formatted(schema, request.text("format"))
        state = await self._registry.current()
        max_id = state.index(schema.subject).max_id if request.flag("fetchMaxId") else None
        return id_json(schema, text, max_id, request.text("referenceFormat"))

    async def _text_of_id(self, request: ApiRequest) -> Any:
        schema = await self._schema_of_id(request, request.schema_id)
        return (await self._registry.formatted(schema, request.text("format"))).encode()

    async def _subjects_of_id(self, request: ApiRequest) -> Any:
        return request.page([each.subject for each in await self._shown_of_id(request)])

    async def _versions_of_id(self, request: ApiRequest) -> Any:
        found = await self._shown_of_id(request)
        return request.page([{"subject": each.subject, "version": each.version} for each in found])

    async def _shown_of_id(self, request: ApiRequest) -> list[StoredSchema]:
        schema = await self._schema_of_id(request, request.schema_id, is_named=False)
        state = await self._registry.current()
        found = state.versions_of_id(schema.schema_id, qualified(schema.subject).context_prefix or None)
        return [each for each in found if request.flag("deleted") or not each.is_deleted]

    async def _schema_of_id(self, request: ApiRequest, schema_id: int, *, is_named: bool = True) -> StoredSchema:
        state, subject = await self._registry.current(), normalized(request.text("subject"))
        found = _schema_of_id(state, schema_id, subject)
        if found is None:
            raise schema_not_found(schema_id if is_named else None)
        return found

    async def _by_guid(self, request: ApiRequest) -> Any:
        state, guid = await self._registry.current(), request.params["guid"]
        found = _ids_of_guid(state, guid)
        if not found:
            raise schema_not_found(guid)
        schema = state.schema_of_id(found[0][1], QualifiedSubject(found[0][0], "").name or None)
        assert schema is not None, "an id stands for a version"
        return guid_json(schema, await self._registry.formatted(schema, request.text("format")))

    async def _ids_of_guid(self, request: ApiRequest) -> Any:
        found = _ids_of_guid(await self._registry.current(), request.params["guid"])
        return [{"context": context, "id": schema_id} for context, schema_id in sorted(found)]


def _schema_of_id(state: RegistryState, schema_id: int, subject: str) -> StoredSchema | None:
    """Return the schema with the id: of the subject, of that name in another context, or at least of its context."""
    context, name = qualified(subject)
    if not name or context != DEFAULT_CONTEXT:
        return state.schema_of_id(schema_id, subject or None)
    for each in (*state.same_named(subject), None):
        found = state.schema_of_id(schema_id, each)
        if found is not None:
            return found
    return None


def _ids_of_guid(state: RegistryState, guid: str) -> list[tuple[str, int]]:
    """Return the contexts that have the schema, the default one first, with its id there."""
    digest = fingerprint_of_guid(guid)
    if digest is None:
        return []
    ids = (
        (context, state.index(QualifiedSubject(context, "").name or None).id_of(digest)) for context in state.contexts()
    )
    return [(context, schema_id) for context, schema_id in ids if schema_id is not None]


def _shown_versions(state: RegistryState, subject: str, request: ApiRequest) -> list[StoredSchema]:
    versions = [each for each in state.versions(subject) if is_shown(request, is_deleted=each.is_deleted)]
    return versions[-1:] if request.flag("latestOnly") else versions


def _aliases(state: RegistryState, has_prefix: Callable[[str], bool]) -> dict[str, list[str]]:
    """Return the subjects below a prefix that are aliases, by the subject that they stand for."""
    found: dict[str, list[str]] = {}
    for name, config in state.configs():
        if name is not None and config.get("alias") and has_prefix(name):
            found.setdefault(qualified_within(name, config["alias"]).name, []).append(name)
    return found
