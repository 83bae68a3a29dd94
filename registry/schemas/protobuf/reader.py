"""The words, numbers and strings of a .proto text, one after the other. Comments count as white space."""

from __future__ import annotations

import re

from barnabas.registry.schemas.parsed_schema import InvalidSchema

_SPACE = re.compile(r"(?:[ \t\r\n\f\v\ufeff]++|//[^\n]*+|/\*.*?\*/)*+", re.DOTALL)
_WORD = re.compile(r"[A-Za-z0-9_.\-]+")
_WORD_WITHOUT_DOTS = re.compile(r"[A-Za-z0-9_\-]+")
_NUMBER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|[0-9]+)")
_PLAIN = re.compile(r"[^\"'\\\n]++")
_ESCAPE = re.compile(r"\\(?:[xX]([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.))", re.DOTALL)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_INT = range(-(2**31), 2**31)


class ProtoReader:
    """A place in a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def peek(self) -> str:
        """Return the next character that is no space; empty at the end."""
        found = _SPACE.match(self._text, self._position)
        assert found is not None, "the pattern matches nothing, too"
        self._position = found.end()
        return self._text[self._position : self._position + 1]

    def takes(self, character: str) -> bool:
        """Take a character, if it is the next; tell whether it was."""
        if self.peek() != character:
            return False
        self._position += 1
        return True

    def require(self, characters: str) -> str:
        """Take one of some characters."""
        found = self.peek()
        if not found or found not in characters:
            raise self.error(f"expected {' or '.join(characters)}, and found {self._shown()}")
        self._position += 1
        return found

    def word(self, *, with_dots: bool = True) -> str:
        """Take a word: a keyword, a name with or without its dots, or a number."""
        self.peek()
        found = (_WORD if with_dots else _WORD_WITHOUT_DOTS).match(self._text, self._position)
        if found is None:
            raise self.error(f"expected a word, and found {self._shown()}")
        self._position = found.end()
        return found[0]

    def integer(self) -> int:
        """Take an integer of 32 bits, which may be hexadecimal."""
        word = self.word()
        number = int(word, 0 if "x" in word.lower() else 10) if _NUMBER.fullmatch(word) and len(word) < 20 else None
        if number is None or number not in _INT:
            raise self.error(f"expected an integer, and found {word[:40]}")
        return number

    def quoted(self) -> str:
        """Take a string, or several side by side, which are one."""
        parts: list[str] = []
        while self.peek() in ("'", '"') or not parts:
            parts.append(self._one_string(self.require("\"'")))
        return "".join(parts)

    def data_type(self, word: str = "") -> str:
        """Take a type, whose first word may have been taken."""
        word = word or self.word()
        if word != "map":
            return word
        self.require("<")
        key = self.word()
        self.require(",")
        value = self.word()
        self.require(">")
        return f"map<{key}, {value}>"

    def error(self, message: str) -> InvalidSchema:
        """Return what is wrong here, with the line."""
        line = self._text.count("\n", 0, self._position) + 1
        return InvalidSchema(f"Syntax error in line {line}: {message}.")

    def _one_string(self, quote: str) -> str:
        parts: list[str] = []
        while True:
            found = _PLAIN.match(self._text, self._position)
            if found is not None:
                parts.append(found[0])
                self._position = found.end()
            character = self._text[self._position : self._position + 1]
            if character == quote:
                self._position += 1
                return "".join(parts)
            if character == "\\" and (escape := _ESCAPE.match(self._text, self._position)):
                parts.append(_unescaped(escape))
                self._position = escape.end()
            elif character in ("", "\n"):
                raise self.error("a string has no end")
            else:
                parts.append(character)
                self._position += 1

    def _shown(self) -> str:
        return repr(self._text[self._position : self._position + 20]) if self.peek() else "the end"


def _unescaped(escape: re.Match[str]) -> str:
    hexadecimal, octal, other = escape.groups()
    if hexadecimal:
        return chr(int(hexadecimal, 16))
    return chr(int(octal, 8)) if octal else _ESCAPES.get(other, other)
