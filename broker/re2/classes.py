"""Classes of characters: what `\\d`, `\\pL`, `[[:alpha:]]` and `.` stand for. Pure.

A class is a function from one character to whether it is in it. Classes with a letter are those of ASCII, as in RE2;
`\\p` takes Unicode's general categories. Scripts (`\\p{Greek}`) are not known: Python carries no table of them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable

Test = Callable[[str], bool]

_LOWER, _UPPER, _DIGIT = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
WORD = frozenset(_LOWER + _UPPER + _DIGIT + "_")
_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

PERL = {"d": frozenset(_DIGIT), "s": frozenset("\t\n\f\r "), "w": WORD}

POSIX = {
    "alnum": frozenset(_LOWER + _UPPER + _DIGIT),
    "alpha": frozenset(_LOWER + _UPPER),
    "ascii": frozenset(map(chr, range(128))),
    "blank": frozenset("\t "),
    "cntrl": frozenset(map(chr, [*range(32), 127])),
    "digit": frozenset(_DIGIT),
    "graph": frozenset(_LOWER + _UPPER + _DIGIT + _PUNCTUATION),
    "lower": frozenset(_LOWER),
    "print": frozenset(_LOWER + _UPPER + _DIGIT + _PUNCTUATION + " "),
    "punct": frozenset(_PUNCTUATION),
    "space": frozenset("\t\n\v\f\r "),
    "upper": frozenset(_UPPER),
    "word": WORD,
    "xdigit": frozenset(_DIGIT + "abcdefABCDEF"),
}

_CATEGORIES = frozenset(
    (
        *("C", "Cc", "Cf", "Co", "Cs"),
        *("L", "Ll", "Lm", "Lo", "Lt", "Lu"),
        *("M", "Mc", "Me", "Mn"),
        *("N", "Nd", "Nl", "No"),
        *("P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps"),
        *("S", "Sc", "Sk", "Sm", "So"),
        *("Z", "Zl", "Zp", "Zs"),
    )
)


def category(name: str) -> Test | None:
    """The class of a general category of Unicode (`Lu`), of a group of them (`L`), or of `Any`; None if it is none."""
    if name == "Any":
        return lambda char: True
    if name not in _CATEGORIES:
        return None
    return lambda char: unicodedata.category(char).startswith(name)


def one(wanted: str) -> Test:
    """Just this character."""
    return lambda char: char == wanted


def span(low: str, high: str) -> Test:
    """From one character to another."""
    return lambda char: low <= char <= high


def union(tests: Iterable[Test], *, negated: bool = False) -> Test:
    """In one of them; or in none."""
    parts = tuple(tests)
    return lambda char: any(test(char) for test in parts) is not negated


def dot(*, with_newline: bool) -> Test:
    """Every character; by default not the line feed."""
    return lambda char: with_newline or char != "\n"


def folded(test: Test) -> Test:
    """The class whatever the case: in it as it is, in lower or in upper case."""
    return lambda char: any(test(each) for each in {char, *_other_cases(char)})


def _other_cases(char: str) -> list[str]:
    lower = char.lower()
    return [each for each in (lower, char.upper(), lower.upper()) if len(each) == 1]
