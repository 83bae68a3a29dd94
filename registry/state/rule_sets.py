"""Rule sets of a schema: migration, domain and encoding rules. Stored and given back, in their form in JSON.

Clients execute rules; the registry only checks them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

RuleSet: TypeAlias = Mapping[str, Any]
"""{"migrationRules": [rule], "domainRules": [rule], "encodingRules": [rule], "enableAt": where}."""

_RULE_FIELDS = ("name", "doc", "kind", "mode", "type", "tags", "params", "expr", "onSuccess", "onFailure")
_KINDS = ("TRANSFORM", "CONDITION")
_MIGRATION, _DATA = ("UPGRADE", "DOWNGRADE", "UPDOWN"), ("WRITE", "READ", "WRITEREAD")
_PHASES = {
    "migrationRules": ("Migration", _MIGRATION),
    "domainRules": ("Domain", _DATA),
    "encodingRules": ("Encoding", _DATA),
}
_ENVIRONMENTS = ("ALL", "CLIENT", "GATEWAY", "SERVER", "NONE")
_NAME_CHARACTERS_MAX = 256


def read_rule_set(value: Any) -> RuleSet | None:
    """Return the rule set in a JSON value; unknown fields are left out. Raises ValueError."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise ValueError("ruleSet is not an object")
    rules: dict[str, Any] = {phase: _rules(value.get(phase), phase) for phase in _PHASES}
    enable_at = value.get("enableAt")
    if enable_at is not None and enable_at not in _ENVIRONMENTS:
        raise ValueError(f"ruleSet: enableAt is not one of {', '.join(_ENVIRONMENTS)}")
    return {name: each for name, each in {**rules, "enableAt": enable_at}.items() if each}


def rule_set_mistake(rule_set: RuleSet | None) -> str | None:
    """Return why a rule set is not valid, in a sentence; None if it is."""
    names: set[str] = set()
    for phase, (title, modes) in _PHASES.items():
        for rule in (rule_set or {}).get(phase, ()):
            name = rule.get("name")
            if name is not None and name in names:
                return f"Found rule with duplicate name '{name}'"
            mistake = _name_mistake(name) or _rule_mistake(rule)
            if mistake is None and rule["mode"] not in modes:
                mistake = f"{title} rules can only be {', '.join(modes)}"
            if mistake is not None:
                return mistake
            names.add(name)
    return None


def merged_rule_sets(older: RuleSet | None, newer: RuleSet | None) -> RuleSet | None:
    """Return the rules of both, where a newer one replaces an older one of the same name."""
    if older is None or newer is None:
        return newer if older is None else older
    merged: dict[str, Any] = {}
    for phase in _PHASES:
        names = {rule.get("name") for rule in newer.get(phase, ())}
        kept = [rule for rule in older.get(phase, ()) if rule.get("name") not in names]
        merged[phase] = [*kept, *newer.get(phase, ())]
    merged["enableAt"] = newer.get("enableAt") or older.get("enableAt")
    return {name: each for name, each in merged.items() if each}


def rule_set_words(rule_set: RuleSet) -> Iterator[str]:
    """Yield all words of the rule set, in the order in which they are hashed; a byte of 1 for a disabled rule."""
    for phase in _PHASES:
        for rule in rule_set.get(phase, ()):
            yield from _rule_words(rule)
    if "enableAt" in rule_set:
        yield rule_set["enableAt"]


def has_rules_of_type(rule_set: RuleSet | None, rule_type: str) -> bool:
    """Return whether one of the rules is of the type."""
    return any(rule.get("type") == rule_type for phase in _PHASES for rule in (rule_set or {}).get(phase, ()))


def _rules(value: Any, phase: str) -> list[dict[str, Any]]:
    if not isinstance(value, list | None):
        raise ValueError(f"ruleSet: {phase} is not an array")
    return [_rule(each, phase) for each in value or ()]


def _rule(value: Any, phase: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"ruleSet: {phase} has a rule that is not an object")
    given = {"kind": "TRANSFORM", "mode": "WRITEREAD", **{name: each for name, each in value.items() if each}}
    if given["kind"] not in _KINDS or given["mode"] not in (*_MIGRATION, *_DATA):
        raise ValueError(f"ruleSet: {phase} has a rule of an unknown kind or mode")
    tags, params = given.get("tags", []), given.get("params", {})
    if not (isinstance(tags, list) and all(isinstance(each, str) for each in tags)):
        raise ValueError(f"ruleSet: {phase} has a rule whose tags are not an array of strings")
    if not (isinstance(params, Mapping) and all(isinstance(each, str | int | float) for each in params.values())):
        raise ValueError(f"ruleSet: {phase} has a rule whose params are not strings")
    given |= {"tags": sorted(set(tags)), "params": {name: _param(params[name]) for name in sorted(params)}}
    rule = {name: given[name] for name in _RULE_FIELDS if given.get(name)}
    if any(not isinstance(each, str) for name, each in rule.items() if name not in ("tags", "params")):
        raise ValueError(f"ruleSet: {phase} has a rule with a field that is not a string")
    return {**rule, "disabled": value.get("disabled") is True}


def _param(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _name_mistake(name: str | None) -> str | None:
    if name is None:
        return "Missing rule name"
    if len(name) > _NAME_CHARACTERS_MAX:
        return "Rule name too long"
    if not (name[0].isalpha() or name[0] == "_"):
        return f"Illegal initial character in rule name: {name}"
    if not all(each.isalnum() or each in "_-" for each in name[1:]):
        return f"Illegal character in rule name: {name}"
    return None


def _rule_mistake(rule: Mapping[str, Any]) -> str | None:
    if "type" not in rule:
        return "Missing rule type"
    actions: Sequence[str] = [rule.get("onSuccess", ""), rule.get("onFailure", "")]
    if rule["mode"] not in ("WRITEREAD", "UPDOWN") and any("," in action for action in actions):
        return "Multiple actions only valid with WRITEREAD and UPDOWN"
    return None


def _rule_words(rule: Mapping[str, Any]) -> Iterator[str]:
    for field in _RULE_FIELDS:
        value = rule.get(field)
        if field == "tags":
            yield from value or ()
        elif field == "params":
            for name, each in (value or {}).items():
                yield name
                yield each
        elif value is not None:
            yield value
    if rule.get("disabled"):
        yield "\1"
