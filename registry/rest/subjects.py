"""/subjects: their names, the lookup of a schema in one of them, and their deletion."""

from __future__ import annotations

from typing import Any

from barnabas.registry.decisions.deleting import delete_subject
from barnabas.registry.decisions.errors import schema_not_found, subject_not_found
from barnabas.registry.rest.api_request import ApiRequest
from barnabas.registry.rest.filters import is_shown, prefix_test
from barnabas.registry.rest.resource import ApiRoute
from barnabas.registry.rest.schema_json import version_json
from barnabas.registry.schema_registry import SchemaRegistry
from barnabas.registry.state.qualified_subject import WILDCARD
from barnabas.registry.state.stored_schema import StoredSchema


class Subjects:
    """The operations of /subjects."""

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry
        self.routes = [
            ApiRoute("GET", "/subjects", self._list),
            ApiRoute("POST", "/subjects/{subject}", self._look_up),
            ApiRoute("DELETE", "/subjects/{subject}", self._delete),
            ApiRoute("GET", "/subjects/{subject}/metadata", self._latest_with_metadata),
        ]

    async def _list(self, request: ApiRequest) -> Any:
        state, has_prefix = await self._registry.current(), prefix_test(request.text("subjectPrefix", WILDCARD))
        shown = [is_deleted for is_deleted in (False, True) if is_shown(request, is_deleted=is_deleted)]
        return request.page(sorted(name for name, deleted in state.subjects() if deleted in shown and has_prefix(name)))

    async def _look_up(self, request: ApiRequest) -> Any:
        deleted = request.flag("deleted")
        found = await self._registry.look_up(
            request.subject, request.wish(), normalizes=request.flag("normalize"), deleted=deleted
        )
        if found is None:
            raise await self._missing(request.subject, deleted=deleted)
        text = await self._registry.formatted(found, request.text("format"))
        return version_json(found, text, is_stored=False)

    async def _latest_with_metadata(self, request: ApiRequest) -> Any:
        state, deleted = await self._registry.current(), request.flag("deleted")
        wanted = dict(zip(request.texts("key"), request.texts("value"), strict=False))
        for schema in reversed(state.versions(request.subject)):
            if (deleted or not schema.is_deleted) and _has_properties(schema, wanted):
                return version_json(schema, await self._registry.formatted(schema, request.text("format")))
        raise await self._missing(request.subject, deleted=deleted)

    async def _missing(self, subject: str, *, deleted: bool) -> Exception:
        state = await self._registry.current()
        return schema_not_found() if state.has_subjects(subject, deleted=deleted) else subject_not_found(subject)

    async def _delete(self, request: ApiRequest) -> Any:
        subject, permanent = request.subject, request.flag("permanent")
        return await self._registry.change(lambda state: delete_subject(state, subject, permanent=permanent))


def _has_properties(schema: StoredSchema, wanted: dict[str, str]) -> bool:
    metadata = schema.content.metadata
    if metadata is None:
        return False
    properties = metadata.get("properties", {})
    return all(properties.get(name) == value for name, value in wanted.items())
