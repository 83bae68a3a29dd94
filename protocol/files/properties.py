r"""Java properties: the format of meta.properties, server.properties and client configuration files.

`key=value`, `key: value` or `key value` per line; `#` and `!` open comments; a backslash at the end joins the next
line, elsewhere it escapes (`\t \n \r \f \uXXXX`, else the character itself). Whitespace in front of a key, around
the separator and in front of a value is ignored; after a value it is not.

`java.util.Properties` reads the bytes of a file as ISO-8859-1, and so does Kafka with the files of brokers, clients
and tools. The files of its configuration providers are UTF-8, and so is meta.properties here. Half of a surrogate pair,
which a Java string may contain but a Python text must not, is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from barnabas.protocol.errors import DecodeError

MISREAD = "its value is UTF-8 in the file, which is read as ISO-8859-1, as by Kafka: write \\uXXXX instead"
_ESCAPE = re.compile(r"\\(?:u(?P<hex>[0-9a-fA-F]{4})|(?P<plain>.))", re.DOTALL)
_KEY = re.compile(r"(?P<key>(?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*", re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def decode(data: bytes) -> dict[str, str]:
    """Return values by key, of a file as Java reads it; the last value of a key wins. DecodeError names the line."""
    return decode_text(data.decode("iso-8859-1"))


def decode_utf8(data: bytes) -> dict[str, str]:
    """Return values by key, of a file in UTF-8. DecodeError if it is not."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise DecodeError("not a properties file in UTF-8") from None
    return decode_text(text)


def decode_text(text: str) -> dict[str, str]:
    """Return values by key, of a text."""
    properties: dict[str, str] = {}
    for number, line in _logical_lines(text):
        found = _KEY.match(line)
        assert found is not None, "the pattern matches the empty string"
        try:
            properties[_unescape(found["key"])] = _unescape(line[found.end() :])
        except DecodeError as wrong:
            raise DecodeError(f"line {number}: {wrong}") from None
    return properties


def encode(properties: Mapping[str, str]) -> bytes:
    """Return one `key=value` line each, in the order given, in UTF-8."""
    return "".join(f"{_escape(key, ' =:')}={_escape(value, '')}\n" for key, value in properties.items()).encode()


def ascii_value(text: str) -> str:
    """Return a value as it is written in a file that `decode` reads, in ASCII only."""
    units = _escape(text, "").encode("utf-16-be")
    codes = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return "".join(chr(code) if 0x20 <= code < 0x7F else f"\\u{code:04x}" for code in codes)


def is_misread_utf8(text: str) -> bool:
    """Return whether a decoded value was probably UTF-8 in the file: its bytes form characters outside of ASCII."""
    if text.isascii():
        return False
    try:
        return bool(text.encode("iso-8859-1").decode())
    except UnicodeError:
        return False


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each logical line with the number of its first line."""
    lines = re.split(r"\r\n|\r|\n", text)
    joined, begin = "", 0
    for number, line in enumerate(lines, 1):
        line = line.lstrip(" \t\f")
        if not joined:
            begin = number
            if not line or line[0] in "#!":
                continue
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            joined += line[:-1]
            if not joined and _ends_behind(text, lines, number):
                yield begin, ""  # Java sees a line at the end of a file that is only a backslash
            continue
        yield begin, joined + line
        joined = ""
    if joined:
        yield begin, joined


def _ends_behind(text: str, lines: list[str], number: int) -> bool:
    """Return whether only the one character that ends this line follows it."""
    return number == len(lines) or (number == len(lines) - 1 and not lines[-1] and not text.endswith("\r\n"))


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(_unescaped, text)
    if _SURROGATE.search(plain) is None:
        return plain
    try:
        return plain.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise DecodeError("half of a surrogate pair is no character: \\ud83d\\ude00 is, \\ud83d is not") from None


def _unescaped(found: re.Match[str]) -> str:
    if found["hex"] is not None:
        return chr(int(found["hex"], 16))
    if found["plain"] == "u":
        raise DecodeError("a \\u is not followed by four hexadecimal digits: write a plain backslash as \\\\")
    return _CONTROLS.get(found["plain"], found["plain"])


def _escape(text: str, special: str) -> str:
    text = re.sub(rf"[\\#!{re.escape(special)}]", lambda found: "\\" + found[0], text)
    for letter, control in _CONTROLS.items():
        text = text.replace(control, "\\" + letter)
    return "\\" + text if text.startswith(" ") else text
