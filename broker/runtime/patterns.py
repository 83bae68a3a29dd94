"""Regular expressions as Kafka takes them from clients: RE2's, which always take time linear in the text.

Python's own `re` would take exponential time for some patterns, and knows others (backreferences, lookaround) that
Kafka refuses. RE2 is loaded when the first pattern comes: it takes some megabytes. Where it is not installed, as there
are no wheels of it for the newest Python yet, every pattern is refused, and nothing else changes.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

MEMORY_MAX = 8 << 20  # of one compiled pattern; a pattern that needs more is refused
TOO_LARGE = "pattern too large - compile failed"
"""The message of RE2 for a pattern that is too large."""
_ANY_BYTE = "C"
MISSING = "this broker does not support regular expressions, because the package google-re2 is not installed"


class InvalidPattern(ValueError):
    """The text is not a valid pattern. str() is the reason."""


class NoEngine(InvalidPattern):
    """No pattern can be compiled on this machine."""


def is_available() -> bool:
    """Return whether patterns can be compiled on this machine."""
    return find_spec("re2") is not None


class Pattern:
    """A compiled pattern."""

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled

    @property
    def program_size(self) -> int:
        """The number of steps it was compiled to: no character of a text takes more."""
        size: int = self._compiled.programsize
        return size

    def matches(self, text: str) -> bool:
        """Return whether the pattern matches the whole of `text`."""
        return self._compiled.fullmatch(text) is not None


def compile_pattern(text: str, memory_max: int = MEMORY_MAX) -> Pattern:
    """Compile a pattern; raise InvalidPattern if it is not valid, or takes more than `memory_max` bytes."""
    try:
        import re2  # type: ignore[import-untyped]  # because it comes without stubs
    except ModuleNotFoundError as missing:
        raise NoEngine(MISSING) from missing

    options = re2.Options()
    options.log_errors = False
    options.max_mem = memory_max
    if _ANY_BYTE in _escapes(text):
        raise InvalidPattern("invalid escape sequence: \\C")  # Kafka's RE2 does not have it
    try:
        return Pattern(re2.compile(text, options=options))
    except re2.error as invalid:
        why = invalid.args[0]
        raise InvalidPattern(why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)) from invalid
    finally:
        re2.purge()  # it would keep the last 128 patterns of all clients, each with up to MEMORY_MAX


def _escapes(text: str) -> set[str]:
    r"""Return the characters that follow a backslash, outside of what `\Q…\E` quotes."""
    found = set()
    position = text.find("\\")
    while 0 <= position < len(text) - 1:
        found.add(text[position + 1])
        if text[position + 1] == "Q":
            position = text.find("\\E", position)
            if position < 0:
                break
        position = text.find("\\", position + 2)
    return found
