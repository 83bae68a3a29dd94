"""Which name may be meant by one that is not there: `did you mean orders?`, said by everybody who refuses a name.

Pure. It looks at so many names at most, of such a length, that whoever asks is not held up.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

_NAMES_MAX = 500
_CHARS_MAX = 120
_LIKENESS = 0.7
"""From 0 to 1: below, two names have little more in common than letters."""


def nearest(name: str, known: Iterable[str], count: int = 1) -> list[str]:
    """The names that are nearest, whatever their case; none where none is near."""
    if len(name) > _CHARS_MAX:
        return []
    from difflib import get_close_matches  # which a start need not load

    by_lower = {each.lower(): each for each in islice((each for each in known if len(each) <= _CHARS_MAX), _NAMES_MAX)}
    return [by_lower[each] for each in get_close_matches(name.lower(), by_lower, count, _LIKENESS)]


def did_you_mean(name: str, known: Iterable[str], lead: str = ": ") -> str:
    """`: did you mean orders?`, to stand behind the name; empty where no name is near."""
    near = nearest(name, known)
    return f"{lead}did you mean {near[0]}?" if near else ""
