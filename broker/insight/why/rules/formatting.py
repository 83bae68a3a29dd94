"""Formatting for answers: durations, times, names, counts. A sentence is one line, whatever a name contains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from shlex import quote

from barnabas.client.near_names import did_you_mean

_NAME_CHARACTERS_MAX = 120
_LISTED_MAX = 5
_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000))


def duration(ms: int) -> str:
    """Format a duration: 950 ms, 12.3 s, 4 min 5 s, 2 h 3 min, 3 d 4 h."""
    if ms < 0:
        return f"-{duration(-ms)}"
    if ms < 1_000:
        return f"{ms} ms"
    if ms < 60_000:
        return f"{ms / 1_000:.1f}".removesuffix(".0") + " s"
    for (unit, unit_ms), (smaller, smaller_ms) in pairwise(_UNITS):
        if ms >= unit_ms:
            whole, rest = divmod(ms, unit_ms)
            part = rest // smaller_ms
            return f"{whole} {unit} {part} {smaller}" if part else f"{whole} {unit}"
    raise AssertionError(ms)


def moment(ms: int) -> str:
    """Format a time: 2026-11-24T13:20:00.000Z; as a number of ms if it is out of the calendar's range."""
    try:
        at = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=ms)
    except OverflowError:
        return f"{ms} ms since 1970"
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def counted(count: int, what: str) -> str:
    """Format a count with its noun: 1 record, 2 records."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def named(name: str) -> str:
    """Format a name given by a client on one line, cut to a reasonable length for a sentence."""
    shown = "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in name)
    return shown if len(shown) <= _NAME_CHARACTERS_MAX else f"{shown[:_NAME_CHARACTERS_MAX]}…"


def meant(name: str, known: Iterable[str]) -> str:
    """Return ` (did you mean orders?)`, to follow a name that does not exist; empty if no name is similar."""
    near = did_you_mean(name, known, "")
    return f" ({near})" if near else ""


def as_argument(name: str) -> str:
    """Quote a name as a shell argument for a command to copy; return ID if it is too long, or not printable."""
    if named(name) != name:
        return "ID"
    return f"-- {quote(name)}" if name.startswith("-") else quote(name)


def listed(names: Sequence[str], count: int | None = None) -> str:
    """Format as a, b and c; of many the first five, and how many more. count: the total, if `names` is only a part."""
    total = len(names) if count is None else count
    shown = list(names[:_LISTED_MAX])
    more = total - len(shown)
    if more > 0:
        return f"{', '.join(shown)} and {more} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else "none"
