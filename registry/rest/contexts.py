"""/contexts: the contexts of subjects. All other paths below a context are those without it: `paths.py`."""

from __future__ import annotations

from typing import Any

from barnabas.registry.decisions.deleting import delete_context
from barnabas.registry.rest.api_request import ApiRequest
from barnabas.registry.rest.resource import ApiRoute, NoContent
from barnabas.registry.schema_registry import SchemaRegistry
from barnabas.registry.state.qualified_subject import normalized


class Contexts:
    """The operations of /contexts."""

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry
        self.routes = [
            ApiRoute("GET", "/contexts", self._list),
            ApiRoute("DELETE", "/contexts/{context}", self._delete),
        ]

    async def _list(self, request: ApiRequest) -> Any:
        state, prefix = await self._registry.current(), request.text("contextPrefix")
        return request.page([context for context in state.contexts() if context.startswith(prefix)])

    async def _delete(self, request: ApiRequest) -> Any:
        name = normalized(request.params["context"])
        await self._registry.change(lambda state: (None, delete_context(state, name)))
        return NoContent()
