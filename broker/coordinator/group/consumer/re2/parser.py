"""The syntax of RE2, in the dialect of RE2/J that Kafka uses, and its words for what is wrong.

A regular expression becomes a tree over the characters of topic names. Groups are not told apart, since nobody asks
what they match. Nothing here recurses: a tree is only as deep as DEPTH_MAX.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from barnabas.broker.coordinator.group.consumer.re2 import alphabet

SIZE_MAX = 4_096
"""The longest expression, in characters. RE2/J has no limit."""
DEPTH_MAX = 100  # of groups in each other: compiling calls itself some five times for each
_REPEAT_MAX = 1_000
UNLIMITED = -1


class RegexError(ValueError):
    """What is wrong with an expression, in RE2's words."""


class At(Enum):
    """Where an expression may only match."""

    BEGIN = "begin"
    END = "end"
    WORD_BOUNDARY = "boundary"
    NO_WORD_BOUNDARY = "no boundary"


@dataclass(frozen=True, slots=True)
class Sequence:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    part: Node
    least: int
    most: int
    """UNLIMITED for no limit."""


Node: TypeAlias = "frozenset[str] | At | Sequence | Choice | Repeat"


@dataclass(slots=True)
class _Group:
    """What stands in one pair of parentheses, as far as it is read."""

    flags_before: frozenset[str]
    branches: list[Node] = field(default_factory=list)
    items: list[Node] = field(default_factory=list)

    def end_branch(self) -> None:
        self.branches.append(Sequence(tuple(self.items)))
        self.items = []

    def node(self) -> Node:
        self.end_branch()
        return self.branches[0] if len(self.branches) == 1 else Choice(tuple(self.branches))


def parse(expression: str) -> Node:
    """The tree of an expression. Raises RegexError."""
    if len(expression) > SIZE_MAX:
        raise RegexError("expression is too large")
    return _Parser(expression).parse()


_ESCAPED = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_WHERE = {"A": At.BEGIN, "b": At.WORD_BOUNDARY, "B": At.NO_WORD_BOUNDARY, "z": At.END}
_SIMPLE_REPEATS = {"*": (0, UNLIMITED), "+": (1, UNLIMITED), "?": (0, 1)}
_OCTAL = frozenset("01234567")
_ALNUM = frozenset(string.ascii_letters + string.digits)
_FLAGS = frozenset("imsU")


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.flags: frozenset[str] = frozenset()
        self.groups = [_Group(self.flags)]
        self.names: set[str] = set()

    @property
    def folds(self) -> bool:
        return "i" in self.flags

    def rest(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def pop(self) -> str:
        self.at += 1
        return self.text[self.at - 1]

    def has_more(self) -> bool:
        return self.at < len(self.text)

    def add(self, node: Node) -> None:
        self.groups[-1].items.append(node)

    def literal(self, character: str) -> None:
        self.add(alphabet.between(ord(character), ord(character), folds=self.folds))

    def parse(self) -> Node:
        after_repeat = False
        while self.has_more():
            character = self.text[self.at]
            is_repeat = False
            if character in _SIMPLE_REPEATS:
                self.at += 1
                self.repeat(*_SIMPLE_REPEATS[character], after_repeat)
                is_repeat = True
            elif character == "{":
                is_repeat = self.braces(after_repeat)
            else:
                _STEPS.get(character, _literal)(self)
            after_repeat = is_repeat
        if len(self.groups) > 1:
            raise RegexError("missing closing )")
        return self.groups[0].node()

    # Groups

    def open(self) -> None:
        if self.rest("(?"):
            self.perl_group()
            return
        self.at += 1
        self.enter(self.flags)

    def enter(self, flags: frozenset[str]) -> None:
        if len(self.groups) > DEPTH_MAX:
            raise RegexError("expression nests too deeply")
        self.groups.append(_Group(self.flags))
        self.flags = flags

    def close(self) -> None:
        self.at += 1
        if len(self.groups) == 1:
            raise RegexError("regexp/syntax: internal error")  # RE2/J says no more
        group = self.groups.pop()
        self.flags = group.flags_before
        self.add(group.node())

    def bar(self) -> None:
        self.at += 1
        self.groups[-1].end_branch()

    def perl_group(self) -> None:
        for opening in ("(?P<", "(?<"):
            if self.rest(opening):
                self.named_group(self.at + len(opening))
                return
        self.at += 2
        flags, sign, saw_flag = set(self.flags), True, False
        while self.has_more():
            character = self.pop()
            if character in _FLAGS:
                (flags.add if sign else flags.discard)(character)
                saw_flag = True
            elif character == "-" and sign:
                sign, saw_flag = False, False
            elif character in ":)" and (sign or saw_flag):
                if character == ":":
                    self.enter(frozenset(flags))
                else:
                    self.flags = frozenset(flags)
                return
            else:
                break
        raise RegexError("invalid or unsupported Perl syntax")

    def named_group(self, begin: int) -> None:
        end = self.text.find(">", begin)
        name = self.text[begin:end]
        if end < 0 or not name or not _ALNUM.union("_").issuperset(name):
            raise RegexError("invalid named capture")
        if name in self.names:
            raise RegexError("duplicate capture group name")
        self.names.add(name)
        self.at = end + 1
        self.enter(self.flags)

    # Repetition

    def repeat(self, least: int, most: int, after_repeat: bool) -> None:
        if self.rest("?"):
            self.at += 1
        if after_repeat:
            raise RegexError("invalid nested repetition operator")
        items = self.groups[-1].items
        if not items:
            raise RegexError("missing argument to repetition operator")
        if _depth(items[-1]) > DEPTH_MAX:
            raise RegexError("expression nests too deeply")
        items[-1] = Repeat(items[-1], least, most)

    def braces(self, after_repeat: bool) -> bool:
        """`{2,5}`; a brace that begins nothing of that kind is a character."""
        begin = self.at
        self.at += 1
        least = self.number()
        most = least
        if least is not None and self.rest(","):
            self.at += 1
            most = UNLIMITED if self.rest("}") else self.number()
        if least is None or most is None or not self.rest("}"):
            self.at = begin
            self.literal(self.pop())
            return False
        self.at += 1
        if least > _REPEAT_MAX or most > _REPEAT_MAX or (most != UNLIMITED and least > most):
            raise RegexError("invalid repeat count")
        self.repeat(least, most, after_repeat)
        return True

    def number(self) -> int | None:
        begin = self.at
        while self.has_more() and self.text[self.at] in string.digits:
            self.at += 1
        digits = self.text[begin : self.at]
        if not digits or (len(digits) > 1 and digits[0] == "0"):
            return None
        return int(digits) if len(digits) <= 8 else _REPEAT_MAX + 1

    # Characters

    def any(self) -> None:
        self.at += 1
        self.add(alphabet.CHARACTERS)

    def begin(self) -> None:
        self.at += 1
        self.add(At.BEGIN)  # names have no lines, so this is the same with (?m)

    def end(self) -> None:
        self.at += 1
        self.add(At.END)

    def backslash(self) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        if following in _WHERE and following:
            self.at += 2
            self.add(_WHERE[following])
        elif following == "C":
            raise RegexError("invalid escape sequence")
        elif following == "Q":
            quoted, _, _ = self.text[self.at + 2 :].partition("\\E")
            self.at = min(self.at + 2 + len(quoted) + 2, len(self.text))
            for character in quoted:
                self.literal(character)
        else:
            characters = self.class_escape()
            if characters is None:
                self.literal(self.escaped())
            else:
                self.add(characters)

    def class_escape(self) -> frozenset[str] | None:
        r"""`\pN`, `\d` and their like; None where there is none."""
        if self.rest("\\p") or self.rest("\\P"):
            return self.unicode_class()
        name = self.text[self.at : self.at + 2]
        characters = alphabet.PERL.get(name.lower())
        if characters is None:
            return None
        self.at += 2
        characters = alphabet.folded(characters) if self.folds else characters
        return characters if name.islower() else alphabet.CHARACTERS - characters

    def unicode_class(self) -> frozenset[str]:
        is_negated = self.text[self.at + 1] == "P"
        self.at += 2
        if not self.has_more():
            raise RegexError("invalid character class range")
        name = self.pop()
        if name == "{":
            end = self.text.find("}", self.at)
            if end < 0:
                raise RegexError("invalid character class range")
            name, self.at = self.text[self.at : end], end + 1
        if name.startswith("^"):
            is_negated, name = not is_negated, name[1:]
        characters = alphabet.of_unicode(name, folds=self.folds)
        if characters is None:
            raise RegexError("invalid character class range")
        return alphabet.CHARACTERS - characters if is_negated else characters

    def escaped(self) -> str:
        """The character that a backslash and what follows it stand for."""
        self.at += 1
        if not self.has_more():
            raise RegexError("trailing backslash at end of expression")
        character = self.pop()
        if character not in _ALNUM:
            return character
        if character in _ESCAPED:
            return _ESCAPED[character]
        if character == "0" or (character in _OCTAL and self.text[self.at : self.at + 1] in _OCTAL):
            begin = self.at - 1
            while self.has_more() and self.at - begin < 3 and self.text[self.at] in _OCTAL:
                self.at += 1
            return chr(int(self.text[begin : self.at], 8))
        digits = ""
        if character == "x":
            digits = self.hexadecimal()
        if not digits or not set(string.hexdigits).issuperset(digits) or int(digits, 16) > 0x10FFFF:
            raise RegexError("invalid escape sequence")
        return chr(int(digits, 16))

    def hexadecimal(self) -> str:
        """The digits after a backslash and an x; none where they are not complete."""
        if self.rest("{"):
            end = self.text.find("}", self.at)
            digits, self.at = self.text[self.at + 1 : max(end, 0)], end + 1
            return digits
        digits = self.text[self.at : self.at + 2]
        self.at += 2
        return digits if len(digits) == 2 else ""

    def bracket(self) -> None:
        self.at += 1
        is_negated = self.rest("^")
        self.at += is_negated
        found: set[str] = set()
        is_first = True
        while not self.rest("]") or is_first:
            is_first = False
            characters = self.posix_class()
            found |= self.class_item() if characters is None else characters
        self.at += 1
        self.add(alphabet.CHARACTERS - found if is_negated else frozenset(found))

    def posix_class(self) -> frozenset[str] | None:
        end = self.text.find(":]", self.at) if self.rest("[:") else -1
        if end < 0:
            return None
        name = self.text[self.at + 2 : end]
        characters = alphabet.POSIX.get(name.removeprefix("^"))
        if characters is None:
            raise RegexError("invalid character class range")
        self.at = end + 2
        characters = alphabet.folded(characters) if self.folds else characters
        return alphabet.CHARACTERS - characters if name.startswith("^") else characters

    def class_item(self) -> frozenset[str]:
        """`\\d`, a character or a range."""
        characters = self.class_escape()
        if characters is not None:
            return characters
        low = high = self.class_character()
        if self.rest("-") and not self.rest("-]"):
            self.at += 1
            high = self.class_character()
            if high < low:
                raise RegexError("invalid character class range")
        return alphabet.between(ord(low), ord(high), folds=self.folds)

    def class_character(self) -> str:
        if not self.has_more():
            raise RegexError("missing closing ]")
        return self.escaped() if self.rest("\\") else self.pop()


def _literal(parser: _Parser) -> None:
    parser.literal(parser.pop())


def _depth(node: Node) -> int:
    """How many repetitions stand around each other at the top of a node."""
    depth = 0
    while isinstance(node, Repeat):
        depth, node = depth + 1, node.part
    return depth


_STEPS: dict[str, Callable[[_Parser], None]] = {
    "(": _Parser.open,
    ")": _Parser.close,
    "|": _Parser.bar,
    "[": _Parser.bracket,
    ".": _Parser.any,
    "^": _Parser.begin,
    "$": _Parser.end,
    "\\": _Parser.backslash,
}
