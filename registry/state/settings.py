"""Settings of a subject, a context or all of them: the configuration (compatibility and more) and the mode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, get_args

from barnabas.registry.state.metadata import read_metadata
from barnabas.registry.state.rule_sets import read_rule_set

SubjectConfig: TypeAlias = Mapping[str, Any]
"""The fields that are set, by their names in `_schemas`."""

CompatibilityLevel: TypeAlias = Literal[
    "NONE",
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
]
COMPATIBILITY_LEVELS: tuple[CompatibilityLevel, ...] = get_args(CompatibilityLevel)
LEVEL, POLICY = "compatibilityLevel", "compatibilityPolicy"
LENIENT = "LENIENT"
COMPATIBILITY_POLICIES = ("LOGICAL", "STRICT", LENIENT)
DEFAULT_CONFIG: SubjectConfig = {LEVEL: "BACKWARD"}

READWRITE, READONLY, READONLY_OVERRIDE, IMPORT, FORWARD = (
    "READWRITE",
    "READONLY",
    "READONLY_OVERRIDE",
    "IMPORT",
    "FORWARD",
)
MODES = (READWRITE, READONLY, READONLY_OVERRIDE, IMPORT, FORWARD)
DEFAULT_MODE = READWRITE

_TEXT, _FLAG, _METADATA, _RULES = "text", "flag", "metadata", "rules"
CONFIG_FIELDS = {
    "alias": _TEXT,
    "aliasForDeks": _TEXT,
    "normalize": _FLAG,
    "validateFields": _FLAG,
    "validateNewSchemas": _FLAG,
    "validateRules": _FLAG,
    LEVEL: _TEXT,
    POLICY: _TEXT,
    "compatibilityGroup": _TEXT,
    "defaultMetadata": _METADATA,
    "overrideMetadata": _METADATA,
    "defaultRuleSet": _RULES,
    "overrideRuleSet": _RULES,
}
"""The fields in their order in `_schemas`, with their kind."""
_DEFAULTS_AND_OVERRIDES = ("defaultMetadata", "overrideMetadata", "defaultRuleSet", "overrideRuleSet")
_INHERITED = ("normalize", "validateFields", "validateNewSchemas", "validateRules", POLICY)


def read_config(value: Mapping[str, Any]) -> SubjectConfig:
    """Return the configuration in a JSON object; unknown fields are left out. Raises ValueError."""
    given = {name: read_config_field(name, value.get(name)) for name in CONFIG_FIELDS}
    return {name: each for name, each in given.items() if each is not None and each != ""}


def read_config_field(name: str, value: Any) -> Any:
    """Return the value of one field. Raises ValueError."""
    kind = CONFIG_FIELDS[name]
    if kind == _METADATA:
        return read_metadata(value)
    if kind == _RULES:
        return read_rule_set(value)
    if value is None:
        return None
    if kind == _FLAG:
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        raise ValueError(f"{name} is not true or false")
    if not isinstance(value, str):
        raise ValueError(f"{name} is not a string")
    return value


def updated_config(older: SubjectConfig | None, changes: Mapping[str, Any]) -> SubjectConfig:
    """Return the configuration with these fields changed; None clears one."""
    merged = {**(older or {}), **changes}
    return {name: merged[name] for name in CONFIG_FIELDS if merged.get(name) is not None and merged[name] != ""}


def config_below(above: SubjectConfig, own: SubjectConfig) -> SubjectConfig:
    """Return a subject's own configuration, with the fields that it inherits from the global one."""
    inherited = {name: above[name] for name in (*_INHERITED, "compatibilityGroup") if name in above}
    merged = {**inherited, **own}
    return {name: merged[name] for name in CONFIG_FIELDS if name in merged}


def has_defaults_or_overrides(config: SubjectConfig) -> bool:
    """Return whether schemas get metadata or rules from the configuration."""
    return any(name in config for name in _DEFAULTS_AND_OVERRIDES)
