r"""Sets of characters, for the classes of Java's regular expressions: sorted ranges, and their names in Java.

Without flags that are refused, Java's `\w \d \s` and the POSIX classes contain only ASCII. General categories are
those of this Python's Unicode, which may have more or fewer characters than that of a JVM.
"""

from __future__ import annotations

import functools
import sys
import unicodedata
from collections.abc import Iterable

Characters = tuple[tuple[int, int], ...]
"""Ranges of code points with both ends, sorted, not overlapping or adjacent."""
EVERY: Characters = ((0, sys.maxunicode),)


def ranges(pairs: Iterable[tuple[int, int]]) -> Characters:
    """Return the set of these ranges."""
    joined: list[tuple[int, int]] = []
    for low, high in sorted(pairs):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return tuple(joined)


def these(text: str) -> Characters:
    """Return the set of the characters in a text."""
    return ranges((ord(character), ord(character)) for character in text)


def others(characters: Characters) -> Characters:
    """Return all characters that are not in the set."""
    left, begin = [], 0
    for low, high in characters:
        if begin < low:
            left.append((begin, low - 1))
        begin = high + 1
    return tuple(left) if begin > sys.maxunicode else (*left, (begin, sys.maxunicode))


def in_both(one: Characters, other: Characters) -> Characters:
    """Return the characters in both sets."""
    return others(ranges((*others(one), *others(other))))


def in_either_case(characters: Characters) -> Characters:
    """Return the set extended by the other case of ASCII letters."""
    letters = (*in_both(characters, _UPPER), *in_both(characters, _LOWER))
    return ranges((*characters, *((low ^ 0x20, high ^ 0x20) for low, high in letters)))


def as_class(characters: Characters) -> str:
    """Return a Python character class for the set."""
    if not characters:
        return "(?!)"
    return "[" + "".join(_escaped(low) + (f"-{_escaped(high)}" if high > low else "") for low, high in characters) + "]"


def _escaped(code: int) -> str:
    character = chr(code)
    return character if character.isascii() and character.isalnum() else f"\\U{code:08x}"


_UPPER, _LOWER, _DIGIT = ((0x41, 0x5A),), ((0x61, 0x7A),), ((0x30, 0x39),)
_ALPHA = ranges((*_UPPER, *_LOWER))
_ALNUM = ranges((*_ALPHA, *_DIGIT))
_SPACE = these(" \t\n\x0b\f\r")
LINE_ENDS = these("\n\r\u0085\u2028\u2029")
_HORIZONTAL = ranges((*these(" \t\xa0\u1680\u180e\u202f\u205f\u3000"), (0x2000, 0x200A)))
_VERTICAL = ranges(((0x0A, 0x0D), *these("\x85\u2028\u2029")))
ESCAPES = {"d": _DIGIT, "s": _SPACE, "w": ranges((*_ALNUM, *these("_"))), "h": _HORIZONTAL, "v": _VERTICAL}
ESCAPES |= {letter.upper(): others(characters) for letter, characters in ESCAPES.items()}
_NAMED = {
    "Lower": _LOWER,
    "Upper": _UPPER,
    "ASCII": ((0, 0x7F),),
    "Alpha": _ALPHA,
    "Digit": _DIGIT,
    "Alnum": _ALNUM,
    "Punct": in_both(((0x21, 0x7E),), others(_ALNUM)),
    "Graph": ((0x21, 0x7E),),
    "Print": ((0x20, 0x7E),),
    "Blank": these(" \t"),
    "Cntrl": ((0, 0x1F), (0x7F, 0x7F)),
    "XDigit": ranges((*_DIGIT, (0x41, 0x46), (0x61, 0x66))),
    "Space": _SPACE,
    "L1": ((0, 0xFF),),
    "all": EVERY,
}
_CATEGORIES = {
    **{name: (name,) for name in ("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Me", "Mc", "Nd", "Nl", "No", "Zs", "Zl", "Zp")},
    **{name: (name,) for name in ("Cc", "Cf", "Co", "Cn", "Pd", "Ps", "Pe", "Pc", "Po", "Pi", "Pf", "Sm", "Sc", "Sk")},
    "So": ("So",),
    "L": ("Lu", "Ll", "Lt", "Lm", "Lo"),
    "M": ("Mn", "Me", "Mc"),
    "N": ("Nd", "Nl", "No"),
    "Z": ("Zs", "Zl", "Zp"),
    "C": ("Cc", "Cf", "Co", "Cs", "Cn"),
    "P": ("Pd", "Ps", "Pe", "Pc", "Po", "Pi", "Pf"),
    "S": ("Sm", "Sc", "Sk", "So"),
    "LC": ("Lu", "Ll", "Lt"),
    "LD": ("Lu", "Ll", "Lt", "Lm", "Lo", "Nd"),
}
_CASED = ("Lu", "Ll", "Lt")
_PREFIXES = ("gc=", "general_category=", "Is")


def named(name: str, *, any_case: bool) -> Characters | None:
    r"""Return the set of `\p{name}`; None for a name that is unknown here, as those of scripts and blocks."""
    if name in _NAMED:
        return in_either_case(_NAMED[name]) if any_case and name in ("Lower", "Upper") else _NAMED[name]
    category = next((name.removeprefix(each) for each in _PREFIXES if name.startswith(each)), name)
    if any_case and category in _CASED:
        category = "LC"
    return _of_categories(_CATEGORIES[category]) if category in _CATEGORIES else None


@functools.cache
def _of_categories(categories: tuple[str, ...]) -> Characters:
    wanted = frozenset(categories)
    found: list[tuple[int, int]] = []
    begin: int | None = None
    for code in range(sys.maxunicode + 1):
        if (unicodedata.category(chr(code)) in wanted) != (begin is not None):
            if begin is None:
                begin = code
            else:
                found.append((begin, code - 1))
                begin = None
    return tuple(found if begin is None else [*found, (begin, sys.maxunicode)])
