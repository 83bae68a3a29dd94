"""/compatibility: whether a schema could be registered as the next version."""

from __future__ import annotations

from typing import Any

from barnabas.registry.decisions.errors import RegistryError, version_not_found
from barnabas.registry.rest.api_request import ApiRequest
from barnabas.registry.rest.resource import ApiRoute
from barnabas.registry.schema_registry import SchemaRegistry
from barnabas.registry.state.registry_state import LATEST
from barnabas.registry.state.stored_schema import StoredSchema

_INVALID_SCHEMA = 42201


class Compatibility:
    """The operations of /compatibility."""

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry
        path = "/compatibility/subjects/{subject}/versions"
        self.routes = [
            ApiRoute("POST", path, self._with_all),
            ApiRoute("POST", f"{path}/{{version}}", self._with_one),
        ]

    async def _with_all(self, request: ApiRequest) -> Any:
        state = await self._registry.current()
        return await self._checked(request, [each for each in state.versions(request.subject) if not each.is_deleted])

    async def _with_one(self, request: ApiRequest) -> Any:
        state, version = await self._registry.current(), request.version
        found = state.version_or_latest(request.subject, version)
        if version != LATEST and (found is None or found.is_deleted):
            raise version_not_found(version)
        return await self._checked(request, [] if found is None else [found])

    async def _checked(self, request: ApiRequest, versions: list[StoredSchema]) -> Any:
        is_verbose = request.flag("verbose")
        try:
            messages = await self._registry.incompatibilities(
                request.subject, request.wish(), versions, normalizes=request.flag("normalize")
            )
        except RegistryError as refusal:
            if refusal.error_code != _INVALID_SCHEMA or not is_verbose:
                raise
            messages = [refusal.message]
        return {"is_compatible": not messages, **({"messages": messages} if is_verbose else {})}
