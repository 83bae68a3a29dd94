"""How answers put things: lengths of time, moments, names, counts. A sentence is a line, whatever a name has in it."""

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
    """950 ms, 12.3 s, 4 min 5 s, 2 h 3 min, 3 d 4 h."""
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
    """2026-11-24T13:20:00.000Z; the number where no calendar has it."""
    try:
        at = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=ms)
    except OverflowError:
        return f"{ms} ms since 1970"
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def counted(count: int, what: str) -> str:
    """1 record, 2 records."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def named(name: str) -> str:
    """A name of a client's on one line, and not longer than a sentence bears."""
    shown = "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in name)
    return shown if len(shown) <= _NAME_CHARACTERS_MAX else f"{shown[:_NAME_CHARACTERS_MAX]}…"


def meant(name: str, known: Iterable[str]) -> str:
    """` (did you mean orders?)`, behind a name that is not there; empty where none is near."""
    near = did_you_mean(name, known, "")
    return f" ({near})" if near else ""


def as_argument(name: str) -> str:
    """A name as a shell takes it in a command that is to be copied; ID where it is too long for that, or no text."""
    if named(name) != name:
        return "ID"
    return f"-- {quote(name)}" if name.startswith("-") else quote(name)


def listed(names: Sequence[str], count: int | None = None) -> str:
    """a, b and c; of many the first five, and how many more. count: how many there are, if these are not all."""
    total = len(names) if count is None else count
    shown = list(names[:_LISTED_MAX])
    more = total - len(shown)
    if more > 0:
        return f"{', '.join(shown)} and {more} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else "none"
