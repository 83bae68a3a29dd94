"""Parsing and formatting of times: `15m`, `7d`, `1h30m`; `2026-11-24T13:20:00Z`. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from barnabas.broker.control.time_control.movable_clock import ClockRefused

_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}
_PART = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?)(ms|s|m|h|d|w)")
_WHOLE = re.compile(f"(?:{_PART.pattern})+")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DIGITS = re.compile("[0-9]{1,15}")


def duration_ms(text: str) -> int:
    """Return the milliseconds of `15m` and the like. Raises ClockRefused."""
    if _WHOLE.fullmatch(text) is None:
        raise ClockRefused(f"{text!r} is not a length of time such as 90s, 15m, 1h30m or 7d")
    return round(sum(float(number) * _UNITS_MS[unit] for number, unit in _PART.findall(text)))


def moment_ms(text: str) -> int:
    """Return ms since 1970 of a time in ISO 8601 (UTC by default), or of such a number. Raises ClockRefused."""
    if _DIGITS.fullmatch(text) is not None:
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        why = f"{text!r} is not a time such as 2026-11-24T13:20:00Z, nor a number of milliseconds since 1970"
        raise ClockRefused(why) from None
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // timedelta(milliseconds=1)


def moment_text(wall_ms: int) -> str:
    """Format a time in UTC, with milliseconds; beyond the year 9999 as the number."""
    try:
        moment = _EPOCH + timedelta(milliseconds=wall_ms)
    except OverflowError:
        return str(wall_ms)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"
