"""Sets of the characters that a name of a topic may have: what classes of characters come down to here.

A name has 65 different characters, all of them ASCII, so a class is a set of these, whatever else it would match.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable

CHARACTERS = frozenset(string.ascii_letters + string.digits + "._-")
WORD = frozenset(string.ascii_letters + string.digits + "_")
_DIGITS = frozenset(string.digits)
NOTHING: frozenset[str] = frozenset()

_FOLDED_OUTSIDE = {"k": 0x212A, "s": 0x17F}  # KELVIN SIGN, LATIN SMALL LETTER LONG S
_FOLDS = {
    each: {ord(each.lower()), ord(each.upper()), _FOLDED_OUTSIDE.get(each.lower(), ord(each))} for each in CHARACTERS
}

PERL = {"\\d": _DIGITS, "\\s": NOTHING, "\\w": WORD}
POSIX = {
    "alnum": WORD - {"_"},
    "alpha": frozenset(string.ascii_letters),
    "ascii": CHARACTERS,
    "blank": NOTHING,
    "cntrl": NOTHING,
    "digit": _DIGITS,
    "graph": CHARACTERS,
    "lower": frozenset(string.ascii_lowercase),
    "print": CHARACTERS,
    "punct": frozenset("._-"),
    "space": NOTHING,
    "upper": frozenset(string.ascii_uppercase),
    "word": WORD,
    "xdigit": frozenset(string.hexdigits),
}

_LATIN = frozenset(string.ascii_letters)
_TABLES: dict[str, frozenset[str]] = {
    "Any": CHARACTERS,
    "L": _LATIN,
    "Lu": frozenset(string.ascii_uppercase),
    "Ll": frozenset(string.ascii_lowercase),
    "N": _DIGITS,
    "Nd": _DIGITS,
    "P": frozenset("._-"),
    "Po": frozenset("."),
    "Pc": frozenset("_"),
    "Pd": frozenset("-"),
    "Latin": _LATIN,
    "Common": CHARACTERS - _LATIN,
}
_WITHOUT_ANY = """
Lt Lm Lo Mn Me Mc Nl No Zs Zl Zp Cc Cf Co Cs Ps Pe Sm Sc Sk So Pi Pf S C Z M Inherited Bamum Arabic Lisu Armenian
Bengali Old_South_Arabian Bopomofo Cherokee Coptic Cyrillic Deseret Devanagari Ethiopic Georgian Gothic Greek Gujarati
Gurmukhi Han Hangul Hebrew Hiragana Kannada Katakana Khmer Lao Malayalam Mongolian Myanmar Ogham Old_Italic Oriya
Runic Sinhala Syriac Tamil Telugu Thaana Thai Tibetan Canadian_Aboriginal Yi Tagalog Hanunoo Buhid Tagbanwa Braille
Cypriot Limbu Linear_B Osmanya Shavian Tai_Le Ugaritic Buginese Glagolitic Kharoshthi Syloti_Nagri New_Tai_Lue
Tifinagh Old_Persian Balinese Batak Brahmi Cham Egyptian_Hieroglyphs Javanese Kayah_Li Lepcha Mandaic Nko Old_Turkic
Phags_Pa Phoenician Vai Cuneiform Unknown Carian Tai_Tham Lycian Lydian Ol_Chiki Rejang Saurashtra Sundanese
Meetei_Mayek Imperial_Aramaic Avestan Kaithi Inscriptional_Pahlavi Inscriptional_Parthian Samaritan Tai_Viet
"""
_OTHER_TABLES = frozenset(_WITHOUT_ANY.split())


def between(low: int, high: int, *, folds: bool) -> frozenset[str]:
    """The characters from one code point to another; `folds`: in either case."""
    return _where(lambda code: low <= code <= high, folds=folds)


def of_unicode(name: str, *, folds: bool) -> frozenset[str] | None:
    """The characters of a category or script of Unicode; None if RE2 knows no such one."""
    table = _TABLES.get(name)
    if table is None:
        return NOTHING if name in _OTHER_TABLES else None
    return folded(table) if folds and name not in ("Latin", "Common", "Any") else table


def folded(characters: Iterable[str]) -> frozenset[str]:
    """These, in either case."""
    codes = {ord(each) for each in characters}
    return _where(codes.__contains__, folds=True)


def _where(is_in: Callable[[int], bool], *, folds: bool) -> frozenset[str]:
    if not folds:
        return frozenset(each for each in CHARACTERS if is_in(ord(each)))
    return frozenset(each for each in CHARACTERS if any(map(is_in, _FOLDS[each])))
