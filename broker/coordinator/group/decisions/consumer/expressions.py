"""The regular expressions that members subscribe with: RE2's, with Kafka's error messages, and of bounded size.

The engine is the broker's own for client patterns (`broker/runtime/patterns.py`). Kafka has RE2/J, with other error
messages and no limits: an expression beyond the limits below is refused here, because the names of all topics are
matched with it.
"""

from __future__ import annotations

import re
from types import MappingProxyType

from barnabas.broker.runtime.patterns import TOO_LARGE, InvalidPattern, Pattern, compile_pattern

SIZE_MAX = 4_096
"""The maximum length of an expression, in characters."""
LEVELS_MAX = 100
"""The maximum depth of nested groups."""
PROGRAM_MAX = 6_000
"""The maximum number of steps of a compiled expression: matching takes at most 249 (a name's length) times as many."""
_MEMORY_MAX = 512 << 10
"""The memory limit for compiling, in bytes: enough for such a program, and soon exhausted by a much larger one."""

_IN_KAFKAS_WORDS = MappingProxyType(
    {
        "missing )": "missing closing )",
        "unexpected )": "regexp/syntax: internal error",
        "missing ]": "missing closing ]",
        "no argument for repetition operator": "missing argument to repetition operator",
        "bad repetition operator": "invalid nested repetition operator",
        "invalid repetition size": "invalid repeat count",
        "trailing \\": "trailing backslash at end of expression",
        "invalid perl operator": "invalid or unsupported Perl syntax",
        "invalid named capture group": "invalid named capture",
        TOO_LARGE: "expression is too large",
    }
)
_PARENTHESES = re.compile(
    r"""\\Q .*? (?: \\E | \Z )                                    # quoted
      | \\ .                                                      # escaped
      | \[ \^? \]? (?: \\ . | \[ : \w* : \] | [^\]\\] )* \]       # a class of characters
      | \( \?P?< (?P<name> \w+ ) >
      | \(
      | \)""",
    re.VERBOSE | re.DOTALL,
)


class InvalidExpression(ValueError):
    """An error in an expression, with the message of Kafka's RE2/J."""


def compiled(expression: str) -> Pattern:
    """Compile the expression, which topic names are matched with. Raises InvalidExpression."""
    if len(expression) > SIZE_MAX:
        raise InvalidExpression("expression is too large")
    try:
        pattern = compile_pattern(expression, _MEMORY_MAX)
    except InvalidPattern as error:
        what = str(error).partition(": ")[0]
        raise InvalidExpression(_IN_KAFKAS_WORDS.get(what, what)) from error
    if pattern.program_size > PROGRAM_MAX:
        raise InvalidExpression("expression is too large")
    _check_groups(expression)
    return pattern


def _check_groups(expression: str) -> None:
    """Raise InvalidExpression for two groups of one name, which RE2 accepts, and for too deeply nested groups."""
    level, names = 0, set()
    for found in _PARENTHESES.finditer(expression):
        name = found["name"]
        if name in names:
            raise InvalidExpression("duplicate capture group name")
        if name is not None:
            names.add(name)
        level += found[0].startswith("(") - (found[0] == ")")
        if level > LEVELS_MAX:
            raise InvalidExpression("expression nests too deeply")
