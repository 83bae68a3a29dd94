"""What may happen a thousand times a second, and is told seldom: by case, with how often it was, and when last.

For events that clients cause by asking again and again: denials, throttles, failed logins. What was is kept whether or
not somebody listens, since people ask afterwards.

Pure: the caller says what time it is. Invariants: no more than CASES_MAX cases are kept, those that were last; no text
of them is longer than TEXT_MAX; a case is told at most every TOLD_EVERY_S, and no more than TOLD_MAX in that time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

CASES_MAX: Final = 200
TEXT_MAX: Final = 256
TOLD_EVERY_S: Final = 10.0
TOLD_MAX: Final = 50


class Case:
    """One of them. facts: of the last time."""

    __slots__ = ("_told_s", "_untold", "count", "facts", "last_s")

    def __init__(self) -> None:
        self.facts: Mapping[str, Any] = {}
        self.count = 0
        self.last_s = 0.0
        self._untold = 0
        self._told_s: float | None = None

    def happened(self, facts: Mapping[str, Any], now_s: float) -> None:
        """Once more."""
        self.facts, self.last_s = facts, now_s
        self.count += 1
        self._untold += 1

    def is_due(self, now_s: float) -> bool:
        """Whether it was not told for so long that it may be."""
        return self._told_s is None or now_s - self._told_s >= TOLD_EVERY_S

    def told(self, now_s: float) -> int:
        """It is told: how often it has happened since the last time."""
        count, self._untold, self._told_s = self._untold, 0, now_s
        return count


class Repeated:
    """All cases of one kind of event."""

    __slots__ = ("_began_s", "_cases", "_told_count")

    def __init__(self) -> None:
        self._cases: dict[tuple[Any, ...], Case] = {}  # what happened last is last
        self._began_s = 0.0
        self._told_count = 0

    def happened(self, which: Mapping[str, Any], latest: Mapping[str, Any], now_s: float) -> Case:
        """It happened. which: the facts that make it the same case; latest: those that differ from time to time."""
        facts = {name: _cut(value) for name, value in {**which, **latest}.items()}
        key = tuple(facts[name] for name in which)
        case = self._cases.pop(key, None)
        if case is None:
            case = Case()
            if len(self._cases) == CASES_MAX:
                del self._cases[next(iter(self._cases))]
        self._cases[key] = case
        case.happened(facts, now_s)
        return case

    def count_to_tell(self, case: Case, now_s: float) -> int:
        """How often it has happened since it was told last, if it is to be told now; else 0."""
        if now_s - self._began_s >= TOLD_EVERY_S:
            self._began_s, self._told_count = now_s, 0
        if self._told_count == TOLD_MAX or not case.is_due(now_s):
            return 0
        self._told_count += 1
        return case.told(now_s)

    def cases(self) -> list[Case]:
        """Those that are kept, the last first."""
        return list(reversed(self._cases.values()))


def _cut(value: Any) -> Any:
    return value[: TEXT_MAX - 1] + "…" if isinstance(value, str) and len(value) > TEXT_MAX else value
