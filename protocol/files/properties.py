"""Java properties: the format of meta.properties, server.properties and client configuration files.

`key=value`, `key: value` or `key value` per line; `#` and `!` open comments; a backslash at the end joins the next
line, elsewhere it escapes (`\\t \\n \\r \\f \\uXXXX`, else the character itself). Whitespace in front of a key, around
the separator and in front of a value does not count; behind a value it does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from barnabas.protocol.errors import DecodeError

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_KEY = re.compile(r"(?P<key>(?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*", re.DOTALL)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def decode(data: bytes) -> dict[str, str]:
    """Values by key; a key given twice keeps the last value. DecodeError if the bytes are no UTF-8."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise DecodeError(f"not a properties file: {error}") from error
    properties: dict[str, str] = {}
    for line in _logical_lines(text):
        found = _KEY.match(line)
        assert found is not None, "the pattern matches the empty string"
        properties[_unescape(found["key"])] = _unescape(line[found.end() :])
    return properties


def encode(properties: Mapping[str, str]) -> bytes:
    """One `key=value` line each, in the order given."""
    return "".join(f"{_escape(key, ' =:')}={_escape(value, '')}\n" for key, value in properties.items()).encode()


def _logical_lines(text: str) -> Iterator[str]:
    joined = ""
    for line in re.split(r"\r\n|\r|\n", text):
        line = line.lstrip(" \t\f")
        if not joined and (not line or line[0] in "#!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            joined += line[:-1]
            continue
        yield joined + line
        joined = ""
    if joined:
        yield joined


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _CONTROLS.get(found[2], found[2]), text)


def _escape(text: str, special: str) -> str:
    text = re.sub(rf"[\\#!{re.escape(special)}]", lambda found: "\\" + found[0], text)
    for letter, control in _CONTROLS.items():
        text = text.replace(control, "\\" + letter)
    return "\\" + text if text.startswith(" ") else text
