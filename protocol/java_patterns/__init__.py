"""Java's regular expressions, as used in Kafka's settings, in Python's `re`.

A translated pattern matches the same texts as Java's `Pattern`, and has the same groups; `UntranslatableError` is
raised for patterns that cannot be translated exactly, or that Java refuses, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from barnabas.protocol.java_patterns.translation import Translated, UntranslatableError, translated

__all__ = ["JavaPattern", "UntranslatableError"]


class JavaPattern:
    """A compiled pattern."""

    def __init__(self, text: str) -> None:
        """Compile the pattern. UntranslatableError."""
        found: Translated = translated(text)
        self.names = found.names
        """The numbers of the named groups."""
        try:
            self._compiled = re.compile(found.text, re.ASCII)
        except (re.error, OverflowError, RecursionError) as wrong:
            raise UntranslatableError(f"it cannot be translated for Python: {wrong}") from None
        self.groups = self._compiled.groups

    def matches(self, text: str) -> re.Match[str] | None:
        """Match the whole text, as Java's `matches`."""
        return self._compiled.fullmatch(text)

    def looking_at(self, text: str) -> re.Match[str] | None:
        """Match the beginning of the text, as Java's `lookingAt`."""
        return self._compiled.match(text)

    def find(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches of Java's `find`. After an empty match it continues a character later, unlike Python."""
        position = 0
        while position <= len(text) and (found := self._compiled.search(text, position)):
            yield found
            position = found.end() + (found.end() == found.start())
