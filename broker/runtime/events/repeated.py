"""Events that may happen a thousand times a second, and are reported seldom: by case, with their count and last time.

For events that clients cause by repeating a request: denials, throttles, failed logins. They are stored with or without
a listener, since they are explained on request afterwards.

Pure: the caller passes the time. Invariants: no more than CASES_MAX cases are stored, the most recent ones; none of
their texts is longer than TEXT_MAX; a case is reported at most every REPORT_INTERVAL_S, and no more than REPORTS_MAX in
that time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

CASES_MAX: Final = 200
TEXT_MAX: Final = 256
REPORT_INTERVAL_S: Final = 10.0
REPORTS_MAX: Final = 50


class Case:
    """One case. facts: of its last occurrence."""

    __slots__ = ("_reported_s", "_unreported", "count", "facts", "last_s")

    def __init__(self) -> None:
        self.facts: Mapping[str, Any] = {}
        self.count = 0
        self.last_s = 0.0
        self._unreported = 0
        self._reported_s: float | None = None

    def happened(self, facts: Mapping[str, Any], now_s: float) -> None:
        """Count one more occurrence."""
        self.facts, self.last_s = facts, now_s
        self.count += 1
        self._unreported += 1

    def is_due(self, now_s: float) -> bool:
        """Return whether the last report is long enough ago for another one."""
        return self._reported_s is None or now_s - self._reported_s >= REPORT_INTERVAL_S

    def mark_reported(self, now_s: float) -> int:
        """Mark the case as reported; return how often it has happened since the last report."""
        count, self._unreported, self._reported_s = self._unreported, 0, now_s
        return count


class Repeated:
    """All cases of one kind of event."""

    __slots__ = ("_began_s", "_cases", "_reported_count")

    def __init__(self) -> None:
        self._cases: dict[tuple[Any, ...], Case] = {}  # the most recent case is last
        self._began_s = 0.0
        self._reported_count = 0

    def happened(self, which: Mapping[str, Any], latest: Mapping[str, Any], now_s: float) -> Case:
        """Count one occurrence. which: the facts that identify the case; latest: the facts that vary."""
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

    def count_to_report(self, case: Case, now_s: float) -> int:
        """Return how often the case has happened since its last report if it is to be reported now; else 0."""
        if now_s - self._began_s >= REPORT_INTERVAL_S:
            self._began_s, self._reported_count = now_s, 0
        if self._reported_count == REPORTS_MAX or not case.is_due(now_s):
            return 0
        self._reported_count += 1
        return case.mark_reported(now_s)

    def cases(self) -> list[Case]:
        """Return the stored cases, the most recent first."""
        return list(reversed(self._cases.values()))


def _cut(value: Any) -> Any:
    return value[: TEXT_MAX - 1] + "…" if isinstance(value, str) and len(value) > TEXT_MAX else value
