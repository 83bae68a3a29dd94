"""Single values of a plan's JSON: numbers, texts, durations. Each is accepted, or refused in a sentence. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import isfinite
from typing import Any

from barnabas.broker.control.faults.model import DELAY_MS_MAX, Delay, FaultRefused
from barnabas.broker.control.time_control.movable_clock import ClockRefused
from barnabas.broker.control.time_control.time_text import duration_ms
from barnabas.client.near_names import did_you_mean

PATTERN_CHARS_MAX = 1_000
_SHOWN_CHARS_MAX = 60
_OF_JSON = {None: "null", True: "true", False: "false"}


class UnknownKey(FaultRefused):
    """An unknown key of an object. `key`: its name."""

    def __init__(self, key: str, sentence: str) -> None:
        super().__init__(sentence)
        self.key = key


def shown(value: object) -> str:
    """Format a value for a sentence: in one line, and no longer than a line."""
    text = _OF_JSON[value] if value is None or isinstance(value, bool) else repr(value)
    return text if len(text) <= _SHOWN_CHARS_MAX else f"{text[: _SHOWN_CHARS_MAX - 1]}…"


def listed(names: Collection[str]) -> str:
    """Format as `a, b and c`."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def typo(value: Any, known: Iterable[str]) -> str:
    """Return `'EndTx': did you mean EndTxn? `, to begin a refusal; empty if no known name is similar."""
    meant = did_you_mean(value, known) if isinstance(value, str) else ""
    return f"{shown(value)}{meant} " if meant else ""


def object_of(value: Any, what: str, known: Collection[str]) -> Mapping[str, Any]:
    """Read a JSON object that has only these keys. Raises FaultRefused."""
    if not isinstance(value, dict):
        raise FaultRefused(f"{what} is an object with {listed(known)}, not {shown(value)}")
    for key in value:
        if key not in known:
            raise UnknownKey(key, f"{typo(key, known)}{what} has no {shown(key)}, but {listed(known)}")
    return value


def whole_number(value: Any, what: str, low: int, high: int) -> int:
    """Read an integer within these bounds. Raises FaultRefused."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise FaultRefused(f"{what} is a whole number from {low} to {high}, not {shown(value)}")
    return value


def text(value: Any, what: str) -> str:
    """Read a text of limited length, without surrogates. Raises FaultRefused."""
    if not isinstance(value, str) or len(value) > PATTERN_CHARS_MAX:
        raise FaultRefused(f"{what} is a text of at most {PATTERN_CHARS_MAX} characters, not {shown(value)}")
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise FaultRefused(f"{what} contains half of a surrogate pair: {shown(value)}")
    return value


def one_of(value: Any, what: str, known: Collection[str]) -> str:
    """Read one of these texts. Raises FaultRefused."""
    if not isinstance(value, str) or value not in known:
        raise FaultRefused(f"{typo(value, known)}{what} is one of {', '.join(known)}, not {shown(value)}")
    return value


def flag(value: Any, what: str) -> bool:
    """Read True; an action that is not wanted is omitted. Raises FaultRefused."""
    if value is not True:
        raise FaultRefused(f"{what} is true, or left out, not {shown(value)}")
    return True


def boolean(value: Any, what: str) -> bool:
    """Read true or false. Raises FaultRefused."""
    if not isinstance(value, bool):
        raise FaultRefused(f"{what} is true or false, not {shown(value)}")
    return value


def probability(value: Any, what: str) -> float:
    """Read a number above 0, and at most 1. Raises FaultRefused."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not isfinite(value) or not 0 < value <= 1:
        raise FaultRefused(f"{what} is a number above 0 and at most 1, not {shown(value)}")
    return float(value)


def versions(value: Any, what: str, low: int, high: int) -> tuple[int, int]:
    """Read one version, or {"min": 2, "max": 4}. Raises FaultRefused."""
    if isinstance(value, dict):
        bounds = object_of(value, what, ("min", "max"))
        first = whole_number(bounds.get("min", low), f"{what}: min", low, high)
        last = whole_number(bounds.get("max", high), f"{what}: max", low, high)
        if first > last:
            raise FaultRefused(f"{what}: min {first} is above max {last}")
        return first, last
    only = whole_number(value, what, low, high)
    return only, only


def delay(value: Any, what: str) -> Delay:
    """Read `"200ms"`, {"min": "100ms", "max": "1s"} or {"mean": "200ms"}. Raises FaultRefused."""
    if isinstance(value, str):
        fixed_ms = _length_ms(value, what)
        return Delay(fixed_ms, fixed_ms)
    if isinstance(value, dict):
        if set(value) == {"mean"}:
            mean_ms = _length_ms(value["mean"], f"{what}: mean")
            if mean_ms == 0:
                raise FaultRefused(f"{what}: the mean is above 0")
            return Delay(0, 0, mean_ms)
        if set(value) == {"min", "max"}:
            low_ms, high_ms = (_length_ms(value[key], f"{what}: {key}") for key in ("min", "max"))
            if low_ms > high_ms:
                raise FaultRefused(f"{what}: min {value['min']} is above max {value['max']}")
            return Delay(low_ms, high_ms)
    raise FaultRefused(f'{what} is "200ms", {{"min": "100ms", "max": "1s"}} or {{"mean": "200ms"}}, not {shown(value)}')


def _length_ms(value: Any, what: str) -> int:
    try:
        length_ms = duration_ms(text(value, what))
    except ClockRefused:
        raise FaultRefused(f"{what} is a length of time such as 200ms, 5s or 1m, not {shown(value)}") from None
    if length_ms > DELAY_MS_MAX:
        raise FaultRefused(f"{what} is at most {DELAY_MS_MAX // 60_000}m, not {shown(value)}")
    return length_ms
