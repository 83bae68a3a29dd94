"""JSON as Confluent Schema Registry writes it, byte for byte: compact, in UTF-8, with nothing escaped that need not be.

It uses Jackson, which escapes control characters with upper-case digits.
"""

from __future__ import annotations

import json
import re
from typing import Any

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_ESCAPED = re.compile(r"\\\\|\\u00[01][0-9a-f]")


class InvalidJson(ValueError):
    """Bytes that are no JSON, or JSON that is nested too deep. The message is a sentence."""


def json_bytes(value: Any) -> bytes:
    """Return the JSON of plain values."""
    text = _ENCODER.encode(value)
    if "\\u00" in text:
        text = _ESCAPED.sub(_with_upper_digits, text)
    return text.encode()


def _with_upper_digits(found: re.Match[str]) -> str:
    escaped = found[0]
    return escaped if escaped == "\\\\" else f"\\u{escaped[2:].upper()}"


def json_value(data: bytes | str) -> Any:
    """Return the plain values of JSON. Raises InvalidJson."""
    try:
        value = json.loads(data)
        if b"\\ud" in data if isinstance(data, bytes) else "\\ud" in data:
            _check_text(value)
    except RecursionError:
        raise InvalidJson("it is nested too deep") from None
    except ValueError as error:
        raise InvalidJson(str(error)) from error
    return value


def _check_text(value: Any) -> None:
    """Raise ValueError for half a surrogate pair, which has no UTF-8."""
    json.dumps(value, ensure_ascii=False).encode()
