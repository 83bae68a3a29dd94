"""From the text of a pattern to its tree, in RE2's syntax as Kafka's library (RE2/J) reads it. Pure.

What RE2 does not have is refused: backreferences, lookaround, possessive and atomic groups, comments, conditions. So
are repetitions above 1000, also of nested ones together. Beyond RE2/J refused: scripts in `\\p{…}` and nesting deeper
than 100.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from broker.re2 import classes
from broker.re2.classes import Test

REPEAT_MAX = 1000
DEPTH_MAX = 100
_ESCAPES = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ASSERTIONS = {"A": "text-start", "z": "text-end", "b": "boundary", "B": "no-boundary"}
_OCTAL, _HEX = "01234567", "0123456789abcdefABCDEF"
_CODE_POINT_MAX = 0x10FFFF


class InvalidPattern(ValueError):
    """What was given is no pattern. str() says why."""


class Char(NamedTuple):
    """One character of a class."""

    test: Test


class Assertion(NamedTuple):
    """A place: text-start, text-end, line-start, line-end, boundary, no-boundary."""

    kind: str


class Sequence(NamedTuple):
    """One after the other."""

    parts: tuple[Node, ...]


class Choice(NamedTuple):
    """One of these."""

    parts: tuple[Node, ...]


class Repeat(NamedTuple):
    """From `low` to `high` times; without `high` as often as there is more."""

    part: Node
    low: int
    high: int | None
    is_counted: bool
    """Whether it was written `{…}`: only these count towards the limit."""


Node = Char | Assertion | Sequence | Choice | Repeat


@dataclass(frozen=True, slots=True)
class _Flags:
    ignore_case: bool = False
    multi_line: bool = False
    dot_all: bool = False


def parse(text: str) -> Node:
    """The tree of a pattern. InvalidPattern if it is none."""
    reader = _Reader(text)
    tree = reader.choice(_Flags(), 0)
    if reader.more:
        raise InvalidPattern("unexpected ): there is no group to close")
    if _count(tree) > REPEAT_MAX:
        raise InvalidPattern(f"invalid repeat count: nested ones come to more than {REPEAT_MAX}")
    return tree


def _count(node: Node) -> int:
    """How many times the innermost part may be counted out by what is around it."""
    match node:
        case Sequence(parts) | Choice(parts):
            return max(map(_count, parts), default=1)
        case Repeat(part, low, high, is_counted):
            return _count(part) * (max(low, high or 0, 1) if is_counted else 1)
    return 1


class _Reader:
    """A recursive-descent reader; `position` is what comes next."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._names: set[str] = set()

    @property
    def more(self) -> bool:
        return self._position < len(self._text)

    def _next(self) -> str:
        if not self.more:
            raise InvalidPattern("the pattern ends too early")
        self._position += 1
        return self._text[self._position - 1]

    def _skip(self, word: str) -> bool:
        if not self._text.startswith(word, self._position):
            return False
        self._position += len(word)
        return True

    def _until(self, word: str, what: str) -> str:
        end = self._text.find(word, self._position)
        if end < 0:
            raise InvalidPattern(f"missing {word} of {what}")
        found = self._text[self._position : end]
        self._position = end + len(word)
        return found

    # --- structure ---

    def choice(self, flags: _Flags, depth: int) -> Node:
        """Alternatives, up to a closing parenthesis or the end. Flags set inside end with it."""
        if depth > DEPTH_MAX:
            raise InvalidPattern(f"groups nested deeper than {DEPTH_MAX}")
        alternatives: list[Node] = []
        parts: list[Node] = []
        while self.more and self._text[self._position] != ")":
            if self._skip("|"):
                alternatives.append(Sequence(tuple(parts)))
                parts = []
            elif self._skip("\\Q"):
                quoted, end, rest = self._text[self._position :].partition("\\E")
                self._position = len(self._text) - len(rest)
                parts += [_literal(char, flags) for char in quoted]
                if quoted and end:
                    parts[-1] = self._repeated(parts[-1])
            elif self._skip("(?P<") or self._skip("(?<"):
                parts.append(self._repeated(self._named_group(flags, depth)))
            elif self._skip("(?"):
                flags, group = self._flagged(flags, depth)
                if group is not None:
                    parts.append(group)
                if parts:
                    parts[-1] = self._repeated(parts[-1])  # as RE2/J does it, also where only flags were set
            else:
                parts.append(self._repeated(self._atom(flags, depth)))
        alternatives.append(Sequence(tuple(parts)))
        return alternatives[0] if len(alternatives) == 1 else Choice(tuple(alternatives))

    def _group(self, flags: _Flags, depth: int) -> Node:
        inside = self.choice(flags, depth + 1)
        if not self._skip(")"):
            raise InvalidPattern("missing closing )")
        return inside

    def _flagged(self, flags: _Flags, depth: int) -> tuple[_Flags, Node | None]:
        """After `(?`: flags for what follows, or a group of its own flags."""
        sign, seen, changed = True, False, flags
        while True:
            char = self._next()
            if char == "-" and sign:
                sign, seen = False, False
            elif char in ":)" and (sign or seen):
                return (flags, self._group(changed, depth)) if char == ":" else (changed, None)
            elif char in "imsU":
                names = {"i": "ignore_case", "m": "multi_line", "s": "dot_all"}
                changed = replace(changed, **{names[char]: sign}) if char != "U" else changed
                seen = True
            else:
                raise InvalidPattern(f"invalid or unsupported group syntax: (?…{char}")

    def _atom(self, flags: _Flags, depth: int) -> Node:
        char = self._next()
        if char == "(":
            return self._group(flags, depth)
        if char == "[":
            return Char(self._bracket(flags))
        if char == ".":
            return Char(classes.dot(with_newline=flags.dot_all))
        if char == "^":
            return Assertion("line-start" if flags.multi_line else "text-start")
        if char == "$":
            return Assertion("line-end" if flags.multi_line else "text-end")
        if char in "*+?" or (char == "{" and self._is_counting()):
            raise InvalidPattern(f"missing argument to repetition operator: {char}")
        if char != "\\":
            return _literal(char, flags)
        if self.more and self._text[self._position] in _ASSERTIONS:
            return Assertion(_ASSERTIONS[self._next()])
        test_or_char = self._escape()
        if isinstance(test_or_char, str):
            return _literal(test_or_char, flags)
        return Char(classes.folded(test_or_char) if flags.ignore_case else test_or_char)

    def _named_group(self, flags: _Flags, depth: int) -> Node:
        name = self._until(">", "a named group")
        if not name or not set(name) <= classes.WORD:
            raise InvalidPattern(f"invalid named capture: {name!r}")
        if name in self._names:
            raise InvalidPattern(f"duplicate capture group name: {name!r}")
        self._names.add(name)
        return self._group(flags, depth)

    # --- repetition ---

    def _repeated(self, part: Node) -> Node:
        found = self._repetition(part)
        if found is None:
            return part
        if self._repetition(part) is not None:
            raise InvalidPattern("invalid nested repetition operator")
        return found

    def _repetition(self, part: Node) -> Repeat | None:
        """The repetition that is written here, with the `?` behind it, which changes nothing for a whole match."""
        if not self.more:
            return None
        char = self._text[self._position]
        if char == "{":
            counts = self._counts()
        elif char in "*+?":
            self._position += 1
            counts = {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
        else:
            return None
        if counts is None:
            return None
        self._skip("?")
        low, high = counts
        return Repeat(part, low, high, char == "{")

    def _is_counting(self) -> bool:
        """Whether the brace just read begins a repetition; RE2/J also refuses to repeat one that does not."""
        self._position -= 1
        if self._counts() is not None:
            return True
        self._position += 1
        return self._repetition(Sequence(())) is not None

    def _counts(self) -> tuple[int, int | None] | None:
        """`{2}`, `{2,}`, `{2,3}`; None, and nothing read, for any other text, which stands for itself."""
        text, closed, _ = self._text[self._position + 1 :].partition("}")
        low, comma, high = text.partition(",")
        if not closed or not _is_number(low) or (high and not _is_number(high)):
            return None
        self._position += len(text) + 2
        counts = int(low), (int(high) if high else None) if comma else int(low)
        if max(counts[0], counts[1] or 0) > REPEAT_MAX or (counts[1] is not None and counts[1] < counts[0]):
            raise InvalidPattern(f"invalid repeat count: {{{text}}}")
        return counts

    # --- characters ---

    def _bracket(self, flags: _Flags) -> Test:
        negated = self._skip("^")
        tests: list[Test] = []
        is_first = True
        while is_first or not self._skip("]"):  # a first one stands for itself
            is_first = False
            if self._skip("[:"):
                tests.append(self._posix())
            else:
                char = self._next()
                item = self._escape() if char == "\\" else char
                tests.append(self._span(item) if isinstance(item, str) else item)
        if flags.ignore_case:
            tests = [classes.folded(test) for test in tests]
        return classes.union(tests, negated=negated)

    def _span(self, low: str) -> Test:
        """A single character of a bracket, or the range that begins with it."""
        following = self._text[self._position : self._position + 2]
        if not following.startswith("-") or following in ("-", "-]"):
            return classes.one(low)
        self._next()
        char = self._next()
        high = self._escape() if char == "\\" else char
        if not isinstance(high, str) or high < low:
            raise InvalidPattern("invalid character class range")
        return classes.span(low, high)

    def _posix(self) -> Test:
        name = self._until(":]", "a character class")
        members = classes.POSIX.get(name.removeprefix("^"))
        if members is None:
            raise InvalidPattern(f"invalid character class range: [:{name}:]")
        return classes.union([members.__contains__], negated=name.startswith("^"))

    def _escape(self) -> Test | str:
        """What stands behind a backslash: a character, or a class."""
        char = self._next()
        if char in "dswDSW":
            return classes.union([classes.PERL[char.lower()].__contains__], negated=char.isupper())
        if char in "pP":
            return self._category(negated=char == "P")
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char == "x":
            digits = self._until("}", "\\x{") if self._skip("{") else self._next() + self._next()
            if not digits or not set(digits) <= set(_HEX) or int(digits, 16) > _CODE_POINT_MAX:
                raise InvalidPattern(f"invalid escape sequence: \\x{digits}")
            return chr(int(digits, 16))
        following = self._text[self._position : self._position + 1]
        if char == "0" or (char in _OCTAL and following and following in _OCTAL):
            digits = char
            while len(digits) < 3 and self.more and self._text[self._position] in _OCTAL:
                digits += self._next()
            return chr(int(digits, 8))
        if not (char.isascii() and char.isalnum()):
            return char
        raise InvalidPattern(f"invalid escape sequence: \\{char}")

    def _category(self, *, negated: bool) -> Test:
        name = self._until("}", "\\p{") if self._skip("{") else self._next()
        test = classes.category(name.removeprefix("^"))
        if test is None:
            raise InvalidPattern(f"invalid character class range: \\p{{{name}}} (scripts are not known here)")
        return classes.union([test], negated=negated is not name.startswith("^"))


def _literal(char: str, flags: _Flags) -> Char:
    if not flags.ignore_case:
        return Char(classes.one(char))
    return Char(classes.folded(classes.union(map(classes.one, {char, char.lower(), char.upper()}))))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and (len(text) == 1 or not text.startswith("0"))
