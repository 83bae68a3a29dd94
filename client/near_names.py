"""Suggestions for an unknown name: `did you mean orders?`, used by all code that refuses a name.

Pure. The number and length of the names are limited, so that the caller is not delayed.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

_NAMES_MAX = 500
_CHARS_MAX = 120
_LIKENESS = 0.7
"""From 0 to 1: below it, two names are not similar enough."""


def nearest(name: str, known: Iterable[str], count: int = 1) -> list[str]:
    """Return the nearest names, ignoring case; an empty list if none is near."""
    if len(name) > _CHARS_MAX:
        return []
    from difflib import get_close_matches  # which a start need not load

    by_lower = {each.lower(): each for each in islice((each for each in known if len(each) <= _CHARS_MAX), _NAMES_MAX)}
    return [by_lower[each] for each in get_close_matches(name.lower(), by_lower, count, _LIKENESS)]


def did_you_mean(name: str, known: Iterable[str], lead: str = ": ") -> str:
    """Return `: did you mean orders?`, to append to the name; empty if no name is near."""
    near = nearest(name, known)
    return f"{lead}did you mean {near[0]}?" if near else ""
