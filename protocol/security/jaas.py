r"""Login modules in the format of Java's JAAS: in `sasl.jaas.config`, and in the file that KAFKA_OPTS names.

    org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";

A value is a list of modules, as Kafka's JaasConfig reads it; a file has sections (`KafkaServer { … };`), each with such
a list, as Java's ConfigFile reads it. Both split the text with a java.io.StreamTokenizer, whose rules are not those of
a shell: a word has letters, digits and `. - _ $`, anything else is in quotes, and so does what begins like a
number; a `/` begins a comment; in quotes `\t \n \r \b \f \v \a` and octal numbers are escapes, and a quote that
is not closed ends with its line. Kafka takes single quotes, too; a file has `${name}` in values for properties of
Java's, and stars in words.

Does not know the meaning of a module. Values are secrets, and in an invalid text any word may be one: no error quotes
a word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_WORDS = r"""(?P<blank>[\0-\ ]+|/\*.*?(?:\*/|\Z)|/[^*]?[^\n\r]*)
    |(?P<quoted>"(?:\\.|[^"\\\n\r])*(?P<end>"?)|'(?:\\.|[^'\\\n\r])*(?P<single_end>'?))
    |(?P<number>-?(?=[.0-9])[0-9]*(?:\.[0-9]*)?)
    |(?P<word>[LETTERS][LETTERS0-9.-]*)
    |(?P<sign>.)"""
_LETTERS = r"A-Za-z$_\xa0-\U0010ffff"
_OF_VALUES, _OF_FILES = (
    re.compile(_WORDS.replace("LETTERS", letters), re.VERBOSE | re.DOTALL) for letters in (_LETTERS, _LETTERS + "*")
)
_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_ESCAPE = re.compile(r"\\([0-3][0-7]{2}|[0-7]{1,2}|.)", re.DOTALL)
_CONTROLS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_FLAGS = ("REQUIRED", "REQUISITE", "SUFFICIENT", "OPTIONAL")
_ONE_FLAG = f"one of {', '.join(_FLAGS).lower()}"
_KNOWN = "org.apache.kafka."


class LoginModule(NamedTuple):
    """One module of a list."""

    name: str
    """Its Java class."""
    flag: str
    options: dict[str, str]


class _Token(NamedTuple):
    kind: str
    """A quote, `word`, `number`, or the sign itself."""
    text: str | None
    """The text of a word or a quoted text; None for anything else."""
    line: int
    is_open: bool = False
    """Whether a quote is not closed."""


_END = _Token("end", None, 0)


def parse_modules(text: str) -> list[LoginModule]:
    """Return the modules of a `sasl.jaas.config` value. ValueError with a sentence without any value."""
    tokens = _Tokens(_tokens_of(text, _OF_VALUES), ('"', "'", "word"))
    modules: list[LoginModule] = []
    while not tokens.is_next("end"):
        name = tokens.take().text or ""
        called = name if name.startswith(_KNOWN) else f"login module {len(modules) + 1}"
        modules.append(_module(name, tokens, f"{called}: "))
    if not modules:
        raise ValueError("there is no login module")
    return modules


def parse_file(text: str, properties: Mapping[str, str] | None = None) -> dict[str, list[LoginModule]]:
    """Return the modules of each section of a JAAS file, by its name. ValueError as above; it names the line.

    properties: the values of `${name}` in a value.
    """
    tokens = _Tokens(_tokens_of(text, _OF_FILES), ('"', "word"), is_file=True)
    sections: dict[str, list[LoginModule]] = {}
    while not tokens.is_next("end"):
        name = tokens.take().text or ""
        tokens.sign("{", "a { is missing behind the name of a section")
        modules = []
        while not tokens.is_next("}"):
            name_of_class = tokens.word("the class of a login module, or the } at the end of a section,")
            modules.append(_module(name_of_class, tokens, "a login module: ", properties or {}))
        tokens.sign("}", "the } at the end of a section is missing")
        tokens.sign(";", "the ; at the end of a section is missing")
        if name in sections:
            raise tokens.wrong("a section is there twice")
        sections[name] = modules
    return sections


def _module(name: str, tokens: _Tokens, of: str, properties: Mapping[str, str] | None = None) -> LoginModule:
    """Parse the rest of the module. properties: for the values of a file."""
    if not name:
        raise tokens.wrong(f"{of}the class of a login module is missing")
    flag = tokens.word(f"{of}{_ONE_FLAG}")
    if flag.upper() not in _FLAGS:
        raise tokens.wrong(f"{of}behind the class of a login module comes {_ONE_FLAG}")
    options: dict[str, str] = {}
    count = 0
    while not tokens.is_next(";") and (properties is not None or not tokens.is_next("end")):
        count += 1
        key = tokens.word(f"{of}the name of option {count}") if properties is not None else tokens.take().text
        tokens.sign("=", f"{of}the = of option {count} is missing, or its name has to be in quotes")
        value = tokens.word(f"{of}the value of option {count}")
        if properties is not None:
            value = _expanded(value, properties, tokens.where)
        if key is not None:  # Kafka stores an option without a name, too, which no code reads
            options[key] = value
    tokens.sign(";", f"{of}the ; at its end is missing")
    return LoginModule(name, flag.lower(), options)


def _expanded(value: str, properties: Mapping[str, str], where: str) -> str:
    """Return the value with `${name}` replaced, as in Java's PropertyExpander."""
    written, position = [], 0
    while (begin := value.find("${", position)) >= 0:
        written.append(value[position:begin])
        doubled = value.startswith("{", begin + 2)
        end = value.find("}}" if doubled else "}", begin + 2)
        if end < 0 or (doubled and end + 2 == len(value)):
            return "".join(written) + value[begin:]
        if doubled:
            end += 1
            written.append(value[begin : end + 1])
        else:
            written.append(_property(value[begin + 2 : end], properties, where))
        position = end + 1
    expanded = "".join(written) + value[position:]
    if value and not expanded:
        raise ValueError(f"{where}the value of a variable is empty")
    return expanded


def _property(name: str, properties: Mapping[str, str], where: str) -> str:
    if name == "/":
        return name
    if name not in properties:
        raise ValueError(
            f"{where}a value has a property of Java's, ${{…}}, which is known here only if KAFKA_OPTS has a -D of its "
            "name: write its value instead"
        )
    return properties[name]


class _Tokens:
    """The remaining tokens. Errors do not quote them."""

    def __init__(self, tokens: list[_Token], words: tuple[str, ...], *, is_file: bool = False) -> None:
        self._left = tokens[::-1]
        self._words = words
        self._is_file = is_file
        self._line = 1
        self._open_quote: _Token | None = None

    @property
    def where(self) -> str:
        """The line of the last token, in a file."""
        return f"line {self._line}: " if self._is_file else ""

    def wrong(self, sentence: str) -> ValueError:
        if self._open_quote is not None:
            self._line, sentence = self._open_quote.line, "a quote is not closed"
        return ValueError(self.where + sentence)

    def is_next(self, kind: str) -> bool:
        return (self._left[-1] if self._left else _END).kind == kind

    def take(self) -> _Token:
        if not self._left:
            return _END
        token = self._left.pop()
        self._line = token.line
        if token.is_open:
            self._open_quote = token
        return token

    def word(self, what: str) -> str:
        token = self.take()
        if token.kind not in self._words or token.text is None:
            raise self.wrong(f"{what} is missing, or has to be in quotes")
        return token.text

    def sign(self, sign: str, or_else: str) -> None:
        if self.take().kind != sign:
            raise self.wrong(or_else)


def _tokens_of(text: str, pattern: re.Pattern[str]) -> list[_Token]:
    found: list[_Token] = []
    line, counted = 1, 0
    for match in pattern.finditer(text):
        kind = match.lastgroup or "sign"
        if kind == "blank":
            continue
        line += len(_LINE_BREAK.findall(text, counted, match.start()))
        counted = match.start()
        if kind == "sign":
            found.append(_Token(match[0], None, line))
        elif kind == "quoted":
            end = match["end"] or match["single_end"] or ""
            inner = match[0][1:].removesuffix(end)
            found.append(_Token(match[0][0], _ESCAPE.sub(_unescaped, inner), line, is_open=not end))
        else:
            found.append(_Token(kind, match[0] if kind == "word" else None, line))
    return found


def _unescaped(found: re.Match[str]) -> str:
    escaped = found[1]
    return chr(int(escaped, 8)) if escaped[0] in "01234567" else _CONTROLS.get(escaped, escaped)
