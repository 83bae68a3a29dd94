"""/config: compatibility levels and the other settings of schemas, of all subjects, a context or a subject."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barnabas.registry.decisions.configuring import delete_config, update_config
from barnabas.registry.decisions.errors import (
    config_not_set,
    http_error,
    invalid_compatibility_level,
    invalid_rule_set,
    invalid_subject,
)
from barnabas.registry.rest.api_request import ApiRequest
from barnabas.registry.rest.resource import ApiRoute
from barnabas.registry.schema_registry import SchemaRegistry
from barnabas.registry.state.qualified_subject import is_default_context, is_valid_subject
from barnabas.registry.state.rule_sets import rule_set_mistake
from barnabas.registry.state.settings import (
    COMPATIBILITY_LEVELS,
    COMPATIBILITY_POLICIES,
    CONFIG_FIELDS,
    LEVEL,
    POLICY,
    read_config_field,
)

_REQUESTED = "compatibility"
"""The name of the level in a request, and in its answer."""


class Config:
    """The operations of /config."""

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry
        self.routes = [
            ApiRoute(method, path, operation)
            for path in ("/config", "/config/{subject}")
            for method, operation in (("GET", self._get), ("PUT", self._update), ("DELETE", self._delete))
        ]

    async def _get(self, request: ApiRequest) -> Any:
        state, name = await self._registry.current(), setting_name(request)
        found = state.config_in_scope(name) if request.flag("defaultToGlobal") else state.config(name)
        if found is None:
            raise config_not_set(name or "")
        return found

    async def _update(self, request: ApiRequest) -> Any:
        changes, name = _changes(request.json()), setting_name(request)
        if name is not None and not is_valid_subject(name, for_settings=True):
            raise invalid_subject(name)
        config = await self._registry.change(lambda state: update_config(state, name, changes))
        return {_REQUESTED if field == LEVEL else field: value for field, value in config.items()}

    async def _delete(self, request: ApiRequest) -> Any:
        name = setting_name(request)
        return await self._registry.change(lambda state: delete_config(state, name))


def setting_name(request: ApiRequest) -> str | None:
    """Return the subject or context of a setting; None for all, as for the default context."""
    if "subject" not in request.params or is_default_context(request.params["subject"]):
        return None
    return request.subject


def _changes(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that a request sets or, with null, clears. Raises RegistryError."""
    given = {LEVEL if name == _REQUESTED else name: value for name, value in fields.items() if name != LEVEL}
    try:
        changes = {name: read_config_field(name, given[name]) for name in CONFIG_FIELDS if name in given}
    except ValueError as why:
        raise http_error(400, f"Invalid JSON: {why}") from why
    if changes.get(LEVEL) is not None:
        changes[LEVEL] = changes[LEVEL].upper()
        if changes[LEVEL] not in COMPATIBILITY_LEVELS:
            raise invalid_compatibility_level()
    policy = (changes.get(POLICY) or "").upper()
    if POLICY in changes:
        changes[POLICY] = policy if policy in COMPATIBILITY_POLICIES else None
    for name in ("defaultRuleSet", "overrideRuleSet"):
        mistake = rule_set_mistake(changes.get(name))
        if mistake is not None:
            raise invalid_rule_set(mistake)
    return changes
