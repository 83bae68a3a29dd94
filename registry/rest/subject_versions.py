"""/subjects/{subject}/versions: registration, versions and their deletion, and what refers to a version."""

from __future__ import annotations

from typing import Any

from barnabas.registry.decisions.deleting import delete_version
from barnabas.registry.decisions.errors import (
    invalid_rule_set,
    invalid_subject,
    subject_not_found,
    version_not_found,
)
from barnabas.registry.rest.api_request import ApiRequest
from barnabas.registry.rest.filters import is_shown
from barnabas.registry.rest.resource import ApiRoute
from barnabas.registry.rest.schema_json import registered_json, version_json
from barnabas.registry.schema_registry import SchemaRegistry
from barnabas.registry.state.qualified_subject import is_valid_subject
from barnabas.registry.state.registry_state import RegistryState
from barnabas.registry.state.rule_sets import rule_set_mistake
from barnabas.registry.state.stored_schema import StoredSchema

_REFERRERS_MAX = 1_000


class SubjectVersions:
    """The operations of /subjects/{subject}/versions."""

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry
        path = "/subjects/{subject}/versions"
        self.routes = [
            ApiRoute("GET", path, self._list),
            ApiRoute("POST", path, self._register),
            ApiRoute("GET", f"{path}/{{version}}", self._version),
            ApiRoute("DELETE", f"{path}/{{version}}", self._delete),
            ApiRoute("GET", f"{path}/{{version}}/schema", self._text),
            ApiRoute("GET", f"{path}/{{version}}/referencedby", self._referrers),
        ]

    async def _list(self, request: ApiRequest) -> Any:
        state, subject = await self._registry.current(), request.subject
        shows_deleted = request.flag("deleted") or request.flag("deletedOnly")
        if not state.has_subjects(subject, deleted=shows_deleted):
            raise subject_not_found(subject)
        versions = state.versions(subject)
        if request.flag("deletedAsNegative"):
            return request.page([-each.version if each.is_deleted else each.version for each in versions])
        return request.page([each.version for each in versions if is_shown(request, is_deleted=each.is_deleted)])

    async def _register(self, request: ApiRequest) -> Any:
        wish = request.wish()
        mistake = rule_set_mistake(wish.rule_set)
        if mistake is not None:
            raise invalid_rule_set(mistake)
        if not is_valid_subject(request.params["subject"]):
            raise invalid_subject(request.params["subject"])
        registered = await self._registry.register(
            request.subject, wish, normalizes=request.flag("normalize"), force=request.flag("force")
        )
        return registered_json(registered, await self._registry.formatted(registered, request.text("format")))

    async def _version(self, request: ApiRequest) -> Any:
        schema = await self._found(request, deleted=request.flag("deleted"))
        text = await self._registry.formatted(schema, request.text("format"))
        return version_json(schema, text, references=request.text("referenceFormat"))

    async def _text(self, request: ApiRequest) -> Any:
        schema = await self._found(request, deleted=request.flag("deleted"))
        return (await self._registry.formatted(schema, request.text("format"))).encode()

    async def _referrers(self, request: ApiRequest) -> Any:
        schema = await self._found(request, deleted=True)
        state = await self._registry.current()
        found = state.referrers((schema.subject, schema.version), deleted=request.flag("deleted"))
        return request.page([schema_id for _, schema_id in found], _REFERRERS_MAX)

    async def _delete(self, request: ApiRequest) -> Any:
        subject, version, permanent = request.subject, request.version, request.flag("permanent")
        versions = await self._registry.change(
            lambda state: delete_version(state, subject, version, permanent=permanent)
        )
        return versions[0]

    async def _found(self, request: ApiRequest, *, deleted: bool) -> StoredSchema:
        subject, version = request.subject, request.version
        state = await self._registry.current()
        for each in state.same_named(subject):
            schema = _version(state, each, version, deleted=deleted)
            if schema is not None:
                return schema
        is_known = state.has_subjects(subject, deleted=deleted)
        raise version_not_found(version) if is_known else subject_not_found(subject)


def _version(state: RegistryState, subject: str, version: int, *, deleted: bool) -> StoredSchema | None:
    schema = state.version_or_latest(subject, version)
    return schema if schema is not None and (deleted or not schema.is_deleted) else None
