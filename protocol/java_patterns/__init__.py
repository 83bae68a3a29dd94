"""Java's regular expressions, as people write them in Kafka's settings, in Python's `re`.

What Java's `Pattern` matches, a translated pattern matches, and it has the same groups; `UntranslatableError` says what
cannot be translated exactly, or is refused by Java, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from barnabas.protocol.java_patterns.translation import Translated, UntranslatableError, translated

__all__ = ["JavaPattern", "UntranslatableError"]


class JavaPattern:
    """A compiled pattern."""

    def __init__(self, text: str) -> None:
        """UntranslatableError."""
        found: Translated = translated(text)
        self.names = found.names
        """The numbers of groups that have a name."""
        try:
            self._compiled = re.compile(found.text, re.ASCII)
        except (re.error, OverflowError, RecursionError) as wrong:
            raise UntranslatableError(f"it cannot be translated for Python, which says: {wrong}") from None
        self.groups = self._compiled.groups

    def matches(self, text: str) -> re.Match[str] | None:
        """Java's `matches`: of the whole text."""
        return self._compiled.fullmatch(text)

    def looking_at(self, text: str) -> re.Match[str] | None:
        """Java's `lookingAt`: of its beginning."""
        return self._compiled.match(text)

    def find(self, text: str) -> Iterator[re.Match[str]]:
        """What Java's `find` finds, one after another. Behind nothing it goes on a character later, unlike Python."""
        position = 0
        while position <= len(text) and (found := self._compiled.search(text, position)):
            yield found
            position = found.end() + (found.end() == found.start())
