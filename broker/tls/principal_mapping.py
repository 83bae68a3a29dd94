"""ssl.principal.mapping.rules: from the name in a client's certificate to the name of a principal, as Kafka maps it.

A list of `RULE:pattern/replacement/[L|U]` and `DEFAULT`; the first rule whose pattern matches the whole name decides.
Java's rules of regular expressions hold: `$1` is what a group matched, `\\` makes the next character a plain one, and a
reference to a group that there is not is text. The names are short and come from certificates that were verified.
"""

from __future__ import annotations

import re
from typing import NamedTuple

DEFAULT_RULES = "DEFAULT"
_RULE = r"(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?).*?|(.*?)"
_SPLITTER = re.compile(rf"\s*({_RULE})\s*(,\s*|$)")
_PARSER = re.compile(_RULE)
_BACK_REFERENCE = re.compile(r"\$(\d+)", re.ASCII)


class _Rule(NamedTuple):
    pattern: re.Pattern[str] | None
    """None in DEFAULT."""
    replacement: str = ""
    case: str = ""
    """L, U or nothing."""


class NoMatchingRule(ValueError):
    """No rule applies to a name."""


class PrincipalMapper:
    """The rules of one listener."""

    def __init__(self, rules: str) -> None:
        """ValueError, in Kafka's words, for a rule that is none."""
        self._text = rules
        self._rules = [rule for text in _split(rules) if (rule := _parse(text)) is not None]

    def name_of(self, distinguished_name: str) -> str:
        """The principal's name. NoMatchingRule."""
        for rule in self._rules:
            name = _apply(rule, distinguished_name)
            if name is not None:
                return name
        raise NoMatchingRule(f"No rules apply to {distinguished_name}, rules {self._text}")


def _split(rules: str) -> list[str]:
    text = rules.strip()
    return [found[1] for found in _SPLITTER.finditer(text)]


def _parse(text: str) -> _Rule | None:
    """A rule; None for an empty one. ValueError."""
    found = _PARSER.match(text)
    assert found is not None, "the last choice of the pattern matches anything"
    if found.end() != len(text):
        raise ValueError(f"Invalid rule: `{text}`, unmatched substring: `{text[found.end() :]}`")
    if found[1] is not None:
        return _Rule(None)
    if found[2] is None:
        return None
    try:
        return _Rule(re.compile(found[2]), found[3], found[4])
    except re.error as wrong:
        raise ValueError(f"Invalid rule: `{text}`: {wrong}") from wrong


def _apply(rule: _Rule, name: str) -> str | None:
    """What the rule makes of `name`; None where it does not match all of it."""
    if rule.pattern is None:
        return name
    if rule.pattern.fullmatch(name) is None:
        return None
    groups = rule.pattern.groups
    result = rule.pattern.sub(lambda found: _replaced(rule.replacement, found, groups), name)
    return {"L": result.lower(), "U": result.upper()}.get(rule.case, result)


def _replaced(replacement: str, found: re.Match[str], groups: int) -> str:
    """The replacement with its references filled in."""
    written: list[str] = []
    position = 0
    while position < len(replacement):
        character = replacement[position]
        reference = _BACK_REFERENCE.match(replacement, position)
        if character == "\\" and position + 1 < len(replacement):
            written.append(replacement[position + 1])
            position += 2
        elif reference is not None and (digits := _group_of(reference[1], groups)):
            written.append(found[int(digits)] or "")
            position += 1 + len(digits)
        else:
            written.append(character)
            position += 1
    return "".join(written)


def _group_of(digits: str, groups: int) -> str:
    """As many of the digits as name a group that there is; none where the reference is text."""
    for count in range(len(digits), 0, -1):
        if int(digits[:count]) <= groups:
            return digits[:count]
    return ""
