"""The change of the clock that a request contains, from the JSON of its body. Pure."""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple

from barnabas.broker.control.time_control.movable_clock import ClockRefused
from barnabas.broker.control.time_control.time_text import duration_ms, moment_ms

EXAMPLES = (
    '{"freeze": true}, {"run": true}, {"advance": "15m"}, {"advance_ms": 900000} or {"at": "2026-11-24T13:20:00Z"}'
)
_INTEGER_MAX = 1 << 53


class ClockChange(NamedTuple):
    """A change. ms: how far to advance, or the time since 1970 to move to."""

    what: Literal["freeze", "run", "advance", "at"]
    ms: int = 0


def read_change(body: bytes) -> ClockChange:
    """Parse the body of a request. Raise ClockRefused, with a sentence, if it is invalid."""
    try:
        given: Any = json.loads(body)
    except (ValueError, RecursionError):
        raise ClockRefused(f"the body is not JSON; it must be one of {EXAMPLES}") from None
    match given:
        case {"freeze": True, **rest} if not rest:
            return ClockChange("freeze")
        case {"run": True, **rest} if not rest:
            return ClockChange("run")
        case {"advance": str(text), **rest} if not rest:
            return ClockChange("advance", duration_ms(text))
        case {"advance_ms": int(number), **rest} if not rest and _is_number(number):
            return ClockChange("advance", number)
        case {"at": str(text), **rest} if not rest:
            return ClockChange("at", moment_ms(text))
        case {"at": int(number), **rest} if not rest and _is_number(number):
            return ClockChange("at", number)
    raise ClockRefused(f"the body is one of {EXAMPLES}")


def _is_number(number: int) -> bool:
    return not isinstance(number, bool) and abs(number) <= _INTEGER_MAX
