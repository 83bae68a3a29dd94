r"""ssl.principal.mapping.rules: from the name in a client's certificate to the name of a principal, as Kafka maps it.

A list of `RULE:pattern/replacement/[L|U]` and `DEFAULT`; the first rule whose pattern matches the whole name decides.
Patterns are Java's regular expressions. In a replacement `$1` and `${name}` are the text of a group, `\` makes the
next character a plain one, and a reference to a missing group is text. As in Kafka, the replacement is inserted for
every match in the name, which may be less than all of it.

A pattern that cannot be translated exactly is refused: it would change a client's principal. So is a replacement with
which Kafka starts, and then refuses every client that the rule is for. The names are short and come from certificates
that were verified.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from barnabas.protocol.java_patterns import JavaPattern, UntranslatableError

DEFAULT_RULES = "DEFAULT"
_RULE = r"(DEFAULT)|RULE:((\\.|[^\\/])*)\/((\\.|[^\\/])*)\/([LU]?).*?|(.*?)"
_SPLITTER = JavaPattern(rf"\s*({_RULE})\s*(,\s*|$)")
_PARSER = JavaPattern(_RULE)
_BLANKS = "".join(map(chr, range(0x21)))
"""The characters that Java's trim removes."""
_REFERENCE = re.compile(r"\$([0-9]+)")
_NAMED_GROUP = re.compile(r"\$\{([a-zA-Z][a-zA-Z0-9]*)\}")
_INT_MAX = (1 << 31) - 1


class _Rule(NamedTuple):
    pattern: JavaPattern | None
    """None in DEFAULT."""
    replacement: tuple[str | int, ...] = ()
    """Texts, and numbers of groups."""
    case: str = ""
    """L, U or nothing."""


class NoMatchingRule(ValueError):
    """No rule applies to a name."""


class PrincipalMapper:
    """The rules of one listener."""

    def __init__(self, rules: str) -> None:
        """Parse the rules. Raises ValueError for an invalid rule, in Kafka's words, or an untranslatable one."""
        self._text = rules
        self._rules = [rule for text in _split(rules) if (rule := _parse(text)) is not None]

    def name_of(self, distinguished_name: str) -> str:
        """Return the principal's name. Raises NoMatchingRule."""
        for rule in self._rules:
            name = _apply(rule, distinguished_name)
            if name is not None:
                return name
        raise NoMatchingRule(f"No rules apply to {distinguished_name}, rules {self._text}")


def _split(rules: str) -> list[str]:
    return [found[1] for found in _SPLITTER.find(rules.strip(_BLANKS))]


def _parse(text: str) -> _Rule | None:
    """Parse a rule; return None for an empty one. Raises ValueError."""
    found = _PARSER.looking_at(text)
    assert found is not None, "the last choice of the pattern matches anything"
    if found.end() != len(text):
        raise ValueError(f"Invalid rule: `{text}`, unmatched substring: `{text[found.end() :]}`")
    if found[1] is not None:
        return _Rule(None)
    if found[2] is None:
        return None
    try:
        pattern = JavaPattern(found[2])
    except UntranslatableError as wrong:
        raise ValueError(f"Invalid rule: `{text}`: of its pattern, {wrong}") from wrong
    try:
        return _Rule(pattern, tuple(_parts(_with_plain_dollars(found[4], pattern.groups), pattern)), found[6])
    except ValueError as wrong:
        raise ValueError(f"Invalid rule: `{text}`: of its replacement, {wrong}") from wrong


def _apply(rule: _Rule, name: str) -> str | None:
    """Apply the rule to `name`; return None where it does not match all of it."""
    if rule.pattern is None:
        return name
    if rule.pattern.matches(name) is None:
        return None
    written, position = [], 0
    for found in rule.pattern.find(name):
        written.append(name[position : found.start()])
        written += [part if isinstance(part, str) else found[part] or "" for part in rule.replacement]
        position = found.end()
    result = "".join(written) + name[position:]
    return {"L": result.lower(), "U": result.upper()}.get(rule.case, result)


def _with_plain_dollars(replacement: str, groups: int) -> str:
    r"""Insert a `\` before each reference to a missing group, where Kafka puts it.

    Kafka searches positions in the original text and inserts into the text that has become longer: of two such
    references the second gets its `\` a character early. Raises ValueError for a number that is too large for Java's
    int.
    """
    if groups == 0:
        return replacement
    changed = replacement
    for found in _REFERENCE.finditer(replacement):
        if found[1].startswith("0"):
            continue
        number = int(found[1]) if len(found[1]) < 11 else _INT_MAX + 1
        if number > _INT_MAX:
            raise ValueError("a number of a group is too large")
        while number > groups and number >= 10:
            number //= 10
        if number > groups:
            changed = f"{changed[: found.start()]}\\{changed[found.start() :]}"
    return changed


def _parts(replacement: str, pattern: JavaPattern) -> list[str | int]:
    """Split it into texts and references, like Java's appendReplacement. Raises ValueError."""
    parts: list[str | int] = []
    position = 0
    while position < len(replacement):
        character = replacement[position]
        position += 1
        if character == "\\":
            if position == len(replacement):
                raise ValueError("a \\ is not followed by a character")
            parts.append(replacement[position])
            position += 1
        elif character != "$":
            parts.append(character)
        elif named := _NAMED_GROUP.match(replacement, position - 1):
            if named[1] not in pattern.names:
                raise ValueError(f"{named[0]} is not the name of a group")
            parts.append(pattern.names[named[1]])
            position = named.end()
        else:
            number, position = _group(replacement, position, pattern.groups)
            parts.append(number)
    return parts


def _group(replacement: str, position: int, groups: int) -> tuple[int, int]:
    """Return the number behind a `$`, of as many digits as name a group, and where it ends. Raises ValueError."""
    number, begin = 0, position
    while position < len(replacement) and replacement[position] in "0123456789":
        longer = number * 10 + int(replacement[position])
        if longer > groups and position > begin:
            break
        number, position = longer, position + 1
    if position == begin:
        raise ValueError("a $ is not followed by the number of a group: write a plain $ as \\$")
    if number > groups:
        raise ValueError(f"there is no group {number}")
    return number, position
