# compiled: mypyc
"""JSON as schemas are written in it: read within bounds, and printed as Jackson prints it.

Texts are compared and hashed by clients, so a number or an escape that differs from Java's makes another schema.
Jackson keeps the order of keys, prints a float as Java does ("1.0E10") and escapes control characters in capitals.
Comments are for Avro, whose Java parser allows them.
"""

from __future__ import annotations

import json
import math
import re
import struct
from decimal import Decimal
from typing import Any

from barnabas.registry.schemas.parsed_schema import InvalidSchema

_FLOAT_LIMIT = 2.0**128 - 2.0**103  # from here on, what is nearest is no float of 32 bits
MAX_DEPTH = 400  # of brackets in brackets. Jackson allows 1,000; every level costs frames of Python's stack

# What is not closed ends with the text: otherwise a search would begin again at every quote.
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?'
_STRINGS = re.compile(_STRING, re.DOTALL)
_STRINGS_AND_COMMENTS = re.compile(_STRING + r"|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_BRACKETS = re.compile(r"[\[\]{}]")
_ESCAPED = re.compile(r'[\x00-\x1f"\\]')
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def read(text: str, *, comments: bool = False, exact: bool = False) -> Any:
    """Return the JSON value that a text is; InvalidSchema if it is none, or nested deeper than MAX_DEPTH.

    exact: whether a number with a fraction or an exponent is a Decimal, so that it is printed as it was written.
    """
    if comments and "/" in text:
        text = _without_comments(text)
    _check_depth(text)
    try:
        text.encode()
        value = json.loads(text, parse_constant=_refuse, parse_float=Decimal if exact else None)
        if "\\u" in text:
            printed(value).encode()  # an escaped lone surrogate is no text either
    except UnicodeEncodeError:
        raise InvalidSchema("The schema has a lone surrogate, which is no character.") from None
    except RecursionError:
        raise InvalidSchema("The schema is nested too deeply.") from None
    except (ValueError, ArithmeticError) as error:
        raise InvalidSchema(f"The schema is no JSON: {error}.") from None
    return value


def printed(value: Any) -> str:
    """Return a JSON value as Jackson prints it, without white space."""
    out: list[str] = []
    _print(value, out)
    return "".join(out)


def with_sorted_keys(value: Any) -> Any:
    """Return a JSON value with the keys of its objects in order."""
    if isinstance(value, dict):
        return {key: with_sorted_keys(value[key]) for key in sorted(value)}
    return [with_sorted_keys(each) for each in value] if isinstance(value, list) else value


def quoted(text: str) -> str:
    """Return a text as a JSON string."""
    return f'"{text}"' if _ESCAPED.search(text) is None else f'"{_ESCAPED.sub(_escape, text)}"'


def float_text(value: float) -> str:
    """Return a float as Java prints a double."""
    if not math.isfinite(value):
        return '"NaN"' if math.isnan(value) else ('"Infinity"' if value > 0 else '"-Infinity"')
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    digits, _, exponent = f"{value!r}".partition("e")
    return _scientific(digits, int(exponent or 0))


def single_precision(value: float) -> float:
    """Return the shortest double that prints as the float of 32 bits nearest to a value does."""
    try:
        nearest: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    for digits in range(1, 10):
        short = float(f"{nearest:.{digits}g}")
        if abs(short) < _FLOAT_LIMIT and struct.pack("<f", short) == struct.pack("<f", nearest):
            return short
    return nearest


def _without_comments(text: str) -> str:
    """Return a text without the comments before its end, after which Java takes none."""
    end = len(text.rstrip())
    return _STRINGS_AND_COMMENTS.sub(lambda found: found[0] if found[0][0] == '"' or found.end() >= end else " ", text)


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for bracket in _BRACKETS.finditer(_STRINGS.sub("", text)):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > MAX_DEPTH:
            raise InvalidSchema(f"The schema is nested deeper than {MAX_DEPTH} levels.")


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON number")


def _print(value: Any, out: list[str]) -> None:
    if isinstance(value, dict):
        separator = "{"
        for key, part in value.items():
            out.append(f"{separator}{quoted(key)}:")
            _print(part, out)
            separator = ","
        out.append("}" if value else "{}")
    elif isinstance(value, list):
        separator = "["
        for part in value:
            out.append(separator)
            _print(part, out)
            separator = ","
        out.append("]" if value else "[]")
    else:
        out.append(_scalar(value))


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, float):
        return float_text(value)
    return str(value) if isinstance(value, Decimal) else json.dumps(value)


def _escape(found: re.Match[str]) -> str:
    return _ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04X}"


def _scientific(digits: str, exponent: int) -> str:
    sign = "-" if digits.startswith("-") else ""
    whole, _, fraction = digits.lstrip("-").partition(".")
    significant = (whole + fraction).lstrip("0")
    exponent += len(whole) - 1 - (len(whole + fraction) - len(significant))
    significant = significant.rstrip("0")
    return f"{sign}{significant[0]}.{significant[1:] or '0'}E{exponent}"
