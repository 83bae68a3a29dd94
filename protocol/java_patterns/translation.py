r"""Translation of a Java regular expression into a Python one with the same meaning.

Each construct is parsed and written again, so no construct with different meanings is passed through: classes become
sets of characters, `.` `^` `$` use Java's line ends, flags are applied to the parts they change. The text is written
for `re.ASCII`. Constructs that Python lacks, or that Java defines in more than one way (`\b` changed in Java 19), are
refused.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from barnabas.protocol.java_patterns import characters as sets
from barnabas.protocol.java_patterns.characters import Characters

_QUANTIFIER = re.compile(r"(?:[*+?]|\{([0-9]{1,9})(?:(,)([0-9]{0,9}))?\})([?+]?)")
_GROUP = re.compile(r"\?(?:([:=!>]|<[=!])|<([a-zA-Z][a-zA-Z0-9]*)>|([ims]*)(?:-([ims]*))?([:)]))")
_END = r"(?:(?=(?:\r\n|[\r\x85\u2028\u2029])?\Z)|(?<!\r)(?=\n\Z))"
_END_OF_LINE = r"(?:\Z|(?<!\r)(?=\n)|(?=[\r\x85\u2028\u2029]))"
_BEGIN_OF_LINE = r"(?!\Z)(?:\A|(?<=[\n\x85\u2028\u2029])|(?<=\r)(?!\n))"
_CONTROLS = {"t": 9, "n": 10, "r": 13, "f": 12, "a": 7, "e": 27}
_KEPT = "Java retains the match of a group in here, even after it backtracks"
_ASSERTIONS = {"A": r"\A", "z": r"\Z", "Z": _END}


class UntranslatableError(ValueError):
    """A pattern without an exact translation; the message is a sentence."""


class Translated(NamedTuple):
    """A Python pattern."""

    text: str
    names: dict[str, int]
    """The numbers of groups by their names."""


class _Piece(NamedTuple):
    """A part of the translation."""

    text: str
    may_repeat: bool = True
    """Whether a quantifier may follow."""
    may_be_empty: bool = False
    captures: bool = False


def translated(text: str) -> Translated:
    """Return the translation. UntranslatableError."""
    parser = _Parser(_without_quotes(text))
    try:
        piece = parser.alternatives()
    except RecursionError:
        raise UntranslatableError("it is nested too deeply") from None
    if not parser.is_over:
        raise parser.wrong("a ) closes nothing")
    return Translated(piece.text, parser.names)


def _without_quotes(text: str) -> str:
    r"""Return the text with each character that `\Q…\E` quotes escaped."""

    def quoted(found: re.Match[str]) -> str:
        if found["quoted"] is None:
            return found[0]
        return "".join(
            character if character.isalpha() or not character.isascii() else f"\\x{ord(character):02x}"
            for character in found["quoted"]
        )

    return re.sub(r"\\Q(?P<quoted>.*?)(?:\\E|\Z)|\\.", quoted, text, flags=re.DOTALL)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._flags: frozenset[str] = frozenset()
        self._opened = 0
        self._closed: set[int] = set()
        self.names: dict[str, int] = {}

    @property
    def is_over(self) -> bool:
        return self._at >= len(self._text)

    def wrong(self, sentence: str) -> UntranslatableError:
        return UntranslatableError(f"at its character {self._at}: {sentence}")

    def alternatives(self) -> _Piece:
        sequences = [self._sequence()]
        while self._take("|"):
            sequences.append(self._sequence())
        return _Piece(
            "|".join(each.text for each in sequences),
            may_be_empty=any(each.may_be_empty for each in sequences),
            captures=any(each.captures for each in sequences),
        )

    def _sequence(self) -> _Piece:
        pieces = []
        while not self.is_over and self._peek not in "|)":
            piece = self._group() if self._take("(") else self._atom()
            if piece is not None:
                pieces.append(self._repeated(piece))
        return _Piece(
            "".join(each.text for each in pieces),
            may_be_empty=all(each.may_be_empty for each in pieces),
            captures=any(each.captures for each in pieces),
        )

    def _repeated(self, piece: _Piece) -> _Piece:
        if self.is_over or self._peek not in "*+?{":
            return piece
        found = _QUANTIFIER.match(self._text, self._at)
        if found is None:
            raise self.wrong("a { begins no number of repetitions")
        if not piece.may_repeat:
            raise self.wrong("an assertion or \\R is repeated")
        if piece.may_be_empty and piece.captures:
            raise self.wrong("a group is repeated that may match nothing")
        if found[4] == "+" and piece.captures:
            raise self.wrong(_KEPT)
        self._at = found.end()
        if not self.is_over and self._peek in "*+?{":
            raise self.wrong(f"a second {self._peek} repeats nothing")
        none = found[0][0] in "*?" or (found[1] is not None and int(found[1]) == 0)
        return piece._replace(text=piece.text + found[0], may_be_empty=piece.may_be_empty or none)

    def _group(self) -> _Piece | None:
        """Parse after a parenthesis; return None for flags that apply to the rest."""
        before = self._flags
        kind, number = "", 0
        if not self.is_over and self._peek == "?":
            found = _GROUP.match(self._text, self._at)
            if found is None:
                raise self.wrong("a group of this kind, or a flag other than i, m and s")
            self._at = found.end()
            kind, name, on, off, end = found.groups()
            if end is not None:
                self._flags = (before | set(on)) - set(off or "")
                if end == ")":
                    return None
                kind = ":"
            if name is not None:
                if name in self.names:
                    raise self.wrong("two groups have one name")
                self.names[name] = self._opened + 1
                kind = ""
        if not kind:
            self._opened += 1
            number = self._opened
        inner = self.alternatives()
        if not self._take(")"):
            raise self.wrong("a ( is not closed")
        if kind not in ("", ":") and inner.captures:
            raise self.wrong(_KEPT)
        self._flags = before
        self._closed.add(number)
        text = f"({'?' + kind if kind else ''}{inner.text})"
        is_assertion = kind not in ("", ":", ">")
        return _Piece(text, not is_assertion, is_assertion or inner.may_be_empty, inner.captures or not kind)

    def _atom(self) -> _Piece:
        character = self._next()
        if character in "*+?{":
            raise self.wrong(f"a {character} repeats nothing")
        if character == "[":
            return _Piece(sets.as_class(self._class()))
        if character == ".":
            return _Piece(sets.as_class(sets.EVERY if "s" in self._flags else sets.others(sets.LINE_ENDS)))
        if character == "^":
            return _assertion(_BEGIN_OF_LINE if "m" in self._flags else r"\A")
        if character == "$":
            return _assertion(_END_OF_LINE if "m" in self._flags else _END)
        return _Piece(sets.as_class(self._single(ord(character)))) if character != "\\" else self._escaped()

    def _escaped(self) -> _Piece:
        """Parse after a backslash, outside of a class."""
        character = "" if self.is_over else self._peek
        if character in "123456789" and character:
            return self._reference(self._number_of_group())
        if character == "k":
            found = re.compile("k<([a-zA-Z][a-zA-Z0-9]*)>").match(self._text, self._at)
            if found is None or found[1] not in self.names:
                raise self.wrong("\\k names no group before it")
            self._at = found.end()
            return self._reference(self.names[found[1]])
        if character in _ASSERTIONS:
            self._at += 1
            return _assertion(_ASSERTIONS[character])
        if character == "R":
            self._at += 1
            return _Piece(r"(?:\r\n|[\n-\r\x85\u2028\u2029])", may_repeat=False)
        found_set = self._escape()
        return _Piece(sets.as_class(self._single(found_set) if isinstance(found_set, int) else found_set))

    def _number_of_group(self) -> int:
        number = int(self._next())
        while not self.is_over and self._peek in "0123456789" and number * 10 + int(self._peek) <= self._opened:
            number = number * 10 + int(self._next())
        return number

    def _reference(self, number: int) -> _Piece:
        if number not in self._closed:
            raise self.wrong(f"group {number} is referred to before its end")
        return _Piece(f"(?{'i' if 'i' in self._flags else ''}:\\{number})", may_be_empty=True)

    def _escape(self) -> int | Characters:
        """Parse after a backslash: a character, or a set of them."""
        if self.is_over:
            raise self.wrong("a \\ escapes nothing")
        character = self._next()
        if character in sets.ESCAPES:
            return sets.ESCAPES[character]
        if character in "pP":
            return self._property(is_other=character == "P")
        if character in _CONTROLS:
            return _CONTROLS[character]
        if character == "c" and not self.is_over:
            return ord(self._next()) ^ 64
        if character == "0":
            return int(self._matched(r"[0-3][0-7]{2}|[0-7]{1,2}", "\\0 without an octal number"), 8)
        if character == "x":
            digits = self._matched(r"[0-9a-fA-F]{2}|\{[0-9a-fA-F]{1,8}\}", "\\x without a hexadecimal number")
            return self._code_point(int(digits.strip("{}"), 16))
        if character == "u":
            return self._unit()
        if character.isascii() and character.isalnum():
            raise self.wrong(f"\\{character} has no meaning that is the same for every Java and Python")
        return ord(character)

    def _unit(self) -> int:
        unit = int(self._matched("[0-9a-fA-F]{4}", "\\u without four hexadecimal digits"), 16)
        low = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})").match(self._text, self._at)
        if 0xD800 <= unit < 0xDC00 and low is not None:
            self._at = low.end()
            return 0x10000 + ((unit - 0xD800) << 10) + (int(low[1], 16) - 0xDC00)
        return self._code_point(unit)

    def _code_point(self, code: int) -> int:
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise self.wrong("a number of no character")
        return code

    def _property(self, *, is_other: bool) -> Characters:
        name = self._matched(r"\{[^}]+\}|[^{]", "\\p without a name").strip("{}")
        found = sets.named(name, any_case="i" in self._flags)
        if found is None:
            raise self.wrong(f"\\p{{{name}}} is not known here: general categories and POSIX's names are")
        return sets.others(found) if is_other else found

    def _class(self) -> Characters:
        """Parse after a bracket."""
        is_other = self._take("^")
        found = self._union(is_first=True)
        while self._take("&&"):
            found = sets.in_both(found, self._union(is_first=False))
        if not self._take("]"):
            raise self.wrong("a [ is not closed")
        return sets.others(found) if is_other else found

    def _union(self, *, is_first: bool) -> Characters:
        """Parse one side of &&, or a whole class."""
        begin = self._at
        found: list[tuple[int, int]] = []
        while not self.is_over and not self._text.startswith("&&", self._at):
            if self._peek == "]" and (self._at > begin or not is_first):
                break
            if self._peek == "&" and not is_first:
                raise self.wrong("a single & behind &&")
            found.extend(self._class() if self._take("[") else self._range())
        if self._at == begin:
            raise self.wrong("a side of && is empty")
        return sets.ranges(found)

    def _range(self) -> Characters:
        low = self._escape() if self._take("\\") else ord(self._next())
        is_range = self._text.startswith("-", self._at) and not self._text.startswith(("-[", "-]"), self._at)
        if not isinstance(low, int):
            if is_range:
                raise self.wrong("a - behind more than one character")
            return low
        if not is_range:
            return self._single(low)
        self._at += 1
        high = -1 if self.is_over else self._escape() if self._take("\\") else ord(self._next())
        if not isinstance(high, int) or high < low:
            raise self.wrong("a range that goes backwards")
        return self._cased(((low, high),))

    def _single(self, code: int) -> Characters:
        return self._cased(((code, code),))

    def _cased(self, characters: Characters) -> Characters:
        return sets.in_either_case(characters) if "i" in self._flags else characters

    @property
    def _peek(self) -> str:
        return self._text[self._at]

    def _next(self) -> str:
        self._at += 1
        return self._text[self._at - 1]

    def _take(self, text: str) -> bool:
        found = self._text.startswith(text, self._at)
        self._at += len(text) * found
        return found

    def _matched(self, pattern: str, or_else: str) -> str:
        found = re.compile(pattern).match(self._text, self._at)
        if found is None:
            raise self.wrong(or_else)
        self._at = found.end()
        return found[0]


def _assertion(text: str) -> _Piece:
    return _Piece(f"(?:{text})", may_repeat=False, may_be_empty=True)
