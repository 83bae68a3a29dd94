"""Login modules as Java's JAAS writes them: in `sasl.jaas.config`, and in the file that KAFKA_OPTS names.

    org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";

A value is a list of modules; a file has sections (`KafkaServer { … };`), each with such a list. Comments are Java's.
Knows nothing of what a module means. Values are secrets: no error quotes them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_TOKEN = re.compile(
    r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/)
    |"(?P<double>(?:[^"\\]|\\.)*)"
    |'(?P<single>(?:[^'\\]|\\.)*)'
    |(?P<sign>[;={}])
    |(?P<word>[^\s;={}"']+)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_FLAGS = ("required", "requisite", "sufficient", "optional")


class LoginModule(NamedTuple):
    """One module of a list."""

    name: str
    """Its Java class."""
    flag: str
    options: dict[str, str]


class _Token(NamedTuple):
    text: str
    is_sign: bool


def parse_modules(text: str) -> list[LoginModule]:
    """The value of `sasl.jaas.config`. ValueError with a sentence that has no value in it."""
    tokens = _Tokens(text)
    modules = []
    while not tokens.is_over:
        modules.append(_module(tokens))
    if not modules:
        raise ValueError("there is no login module")
    return modules


def parse_file(text: str) -> dict[str, list[LoginModule]]:
    """A JAAS file: the modules of each section by its name. ValueError likewise."""
    tokens = _Tokens(text)
    sections: dict[str, list[LoginModule]] = {}
    while not tokens.is_over:
        name = tokens.word("the name of a section")
        tokens.sign("{")
        modules = []
        while not tokens.is_next("}"):
            modules.append(_module(tokens))
        tokens.sign("}")
        tokens.end(f"section {name}")
        if name in sections:
            raise ValueError(f"section {name} is there twice")
        sections[name] = modules
    return sections


def _module(tokens: _Tokens) -> LoginModule:
    name = tokens.word("the class of a login module")
    flag = tokens.word(f"one of {', '.join(_FLAGS)}").lower()
    if flag not in _FLAGS:
        raise ValueError(f"behind {name} comes one of {', '.join(_FLAGS)}")
    options: dict[str, str] = {}
    while not tokens.is_end:
        option = tokens.word(f"an option of {name}")
        tokens.sign("=")
        options[option] = tokens.word(f"the value of {option}")
    tokens.end(name)
    return LoginModule(name, flag, options)


class _Tokens:
    def __init__(self, text: str) -> None:
        self._left = list(_tokens_of(text))[::-1]

    @property
    def is_over(self) -> bool:
        return not self._left

    @property
    def is_end(self) -> bool:
        """Whether a list of options cannot go on."""
        return self.is_over or self.is_next(";") or self.is_next("}")

    def is_next(self, sign: str) -> bool:
        return bool(self._left) and self._left[-1] == _Token(sign, is_sign=True)

    def word(self, what: str) -> str:
        if not self._left or self._left[-1].is_sign:
            raise ValueError(f"{what} is missing")
        return self._left.pop().text

    def end(self, of: str) -> None:
        if not self.is_next(";"):
            raise ValueError(f"{of}: the ; at its end is missing")
        self._left.pop()

    def sign(self, sign: str) -> None:
        if not self.is_next(sign):
            raise ValueError(f"a {sign} is missing")
        self._left.pop()


def _tokens_of(text: str) -> list[_Token]:
    found, position = [], 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError("a quote is not closed")
        position = match.end()
        kind = match.lastgroup
        if kind in ("double", "single"):
            found.append(_Token(_ESCAPE.sub(r"\1", match[kind]), is_sign=False))
        elif kind != "blank":
            found.append(_Token(match[0], is_sign=kind == "sign"))
    return found
