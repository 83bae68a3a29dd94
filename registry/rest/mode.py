"""/mode: whether schemas can be registered, only read, or imported with their ids."""

from __future__ import annotations

from typing import Any

from barnabas.registry.decisions.configuring import delete_mode, set_mode
from barnabas.registry.decisions.errors import invalid_mode, invalid_subject, mode_not_set
from barnabas.registry.rest.api_request import ApiRequest
from barnabas.registry.rest.config import setting_name
from barnabas.registry.rest.resource import ApiRoute
from barnabas.registry.schema_registry import SchemaRegistry
from barnabas.registry.state.qualified_subject import is_global_context, is_valid_subject
from barnabas.registry.state.settings import FORWARD, MODES


class Mode:
    """The operations of /mode."""

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry
        self.routes = [
            ApiRoute(method, path, operation)
            for path in ("/mode", "/mode/{subject}")
            for method, operation in (("GET", self._get), ("PUT", self._set), ("DELETE", self._delete))
        ]

    async def _get(self, request: ApiRequest) -> Any:
        state, name = await self._registry.current(), setting_name(request)
        found = state.mode_in_scope(name) if request.flag("defaultToGlobal") else state.mode(name)
        if found is None:
            raise mode_not_set(name)
        return {"mode": found}

    async def _set(self, request: ApiRequest) -> Any:
        fields, name, force = request.json(), setting_name(request), request.flag("force")
        if name is not None and not is_valid_subject(name, for_settings=True):
            raise invalid_subject(name)
        given = fields.get("mode", "")
        mode = given.upper() if isinstance(given, str) else given
        if mode is not None and mode not in MODES:
            raise invalid_mode()
        if mode == FORWARD and not is_global_context(name):
            raise invalid_mode("Forward mode only supported on global level")
        await self._registry.change(lambda state: (None, set_mode(state, name, mode, force=force)))
        return {"mode": given}

    async def _delete(self, request: ApiRequest) -> Any:
        name, recursive = setting_name(request), request.flag("recursive")
        mode = await self._registry.change(lambda state: delete_mode(state, name, recursive=recursive))
        return {} if mode is None else {"mode": mode}
